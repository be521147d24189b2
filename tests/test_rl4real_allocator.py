# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The allocator of our own: whoever decides, the machine code verifies and the program prints what it should."""

import subprocess
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from tests.support.known_output import CSMITH_FLAGS, OUTPUTS, SAMPLE, compile_, csmith, run

DECIDERS = ("heuristic", "first", "last", "random:1")
SPLITS = (0, 2)
LEVELS = ("-O1", "-O2")
THROWS = """
#include <cstdio>
#include <stdexcept>
#include <string>
int seven(int n) { if (n % 3 == 0) throw std::runtime_error("t" + std::to_string(n)); return n * 7; }
int main() {
  int sum = 0;
  for (int i = 0; i < 20; i++) { try { sum += seven(i); } catch (const std::exception &error) { sum += error.what()[1]; } }
  std::printf("%d\\n", sum);
}
"""
LOOPS = """
int other(int *, int *);
int loops(int *a, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) { int b[8]; sum += other(a, b) * i; for (int j = 0; j < 8; j++) sum ^= b[j] + a[j] * sum; }
  return sum;
}
"""


def allocator(decider: str = "heuristic", splits: int = 0, max_ranges: int = 4000) -> list[str]:
    """The options of code generation that choose our allocator."""
    chosen = [f"-mlcb-regalloc-decider={decider}", f"-mlcb-regalloc-splits={splits}", f"-mlcb-regalloc-max-ranges={max_ranges}"]
    return ["-regalloc=mlcb", *chosen, "-verify-machineinstrs"]


def clang_flags(options: list[str]) -> list[str]:
    return ["-Xclang", "-load", "-Xclang", str(toolchain.plugin()), *(word for option in options for word in ("-mllvm", option))]


def llc(module: Path, *options: str, output: Path) -> str:
    """The remarks of llc while it makes an object."""
    command = [str(toolchain.tool("llc")), f"-load={toolchain.plugin()}", "-O2", "-filetype=obj", *options, str(module), "-o", str(output)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stderr


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("module") / "program.bc"
    compile_(corpora.embedded(f"embedded/{SAMPLE[0]}")[0], "-O2", "-g", "-c", "-emit-llvm", output=path)
    return path


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("decider", DECIDERS)
def test_embedded_program_prints_the_same(decider: str, splits: int, level: str, tmp_path: Path) -> None:
    assert printed(SAMPLE[0], allocator(decider, splits), level, tmp_path) == OUTPUTS[SAMPLE[0]]


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("decider", DECIDERS)
@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_every_embedded_program_prints_the_same(name: str, decider: str, splits: int, level: str, tmp_path: Path) -> None:
    assert printed(name, allocator(decider, splits), level, tmp_path) == OUTPUTS[name]


def printed(name: str, options: list[str], level: str, folder: Path) -> str:
    compile_(corpora.embedded(f"embedded/{name}")[0], level, *clang_flags(options), "-lm", output=folder / "program")
    return run(folder / "program")


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("index", range(200))
def test_csmith_program_prints_the_same(index: int, level: str, tmp_path: Path) -> None:
    source, expected = csmith(index, tmp_path)
    for decider in ("first", "last", f"random:{index}"):
        compile_(source, level, *CSMITH_FLAGS, *clang_flags(allocator(decider, 2)), output=tmp_path / "program")
        assert run(tmp_path / "program") == expected, decider


@pytest.mark.parametrize("decider", DECIDERS)
def test_exceptions_are_caught_in_a_program_with_debug_info(decider: str, tmp_path: Path) -> None:
    source = tmp_path / "throws.cpp"
    source.write_text(THROWS)
    compile_(source, "-O2", "-g", *clang_flags(allocator(decider, 2)), "-lstdc++", output=tmp_path / "program")
    assert run(tmp_path / "program") == "1246\n"


@pytest.mark.parametrize("decider", ["random:1", "random:2"])
@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "riscv64-linux-gnu"])
def test_other_targets_pass_the_verifier(target: str, decider: str, tmp_path: Path) -> None:
    source = tmp_path / "loops.c"
    source.write_text(LOOPS)
    compile_(source, f"--target={target}", "-O2", "-c", *clang_flags(allocator(decider, 2)), output=tmp_path / "loops.o")


def test_function_too_large_is_greedys_to_the_byte(module: Path, tmp_path: Path) -> None:
    said = llc(module, *allocator(max_ranges=0), "-pass-remarks=mlcb", output=tmp_path / "ours.o")
    llc(module, output=tmp_path / "greedys.o")
    assert "left to greedy" in said
    assert "allocated" not in said
    assert (tmp_path / "ours.o").read_bytes() == (tmp_path / "greedys.o").read_bytes()


def test_illegal_answers_are_counted_and_the_heuristics_stand(module: Path, tmp_path: Path) -> None:
    said = llc(module, *allocator("illegal"), "-pass-remarks=mlcb", output=tmp_path / "illegal.o")
    llc(module, *allocator("heuristic"), output=tmp_path / "heuristic.o")
    assert " 0 illegal answers" not in said
    assert (tmp_path / "illegal.o").read_bytes() == (tmp_path / "heuristic.o").read_bytes()


def test_unknown_decider_is_refused(module: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        llc(module, *allocator("never"), output=tmp_path / "object.o")
    assert "-mlcb-regalloc-decider=never: expected heuristic, first, last or random:SEED" in refused.value.stderr
