# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The allocator of our own: whoever decides, the machine code verifies and the program prints what it should."""

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from scripts.other_targets import TARGETS
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


PATCHED = """
declare i64 @llvm.experimental.patchpoint.i64(i64, i32, ptr, i32, ...)
declare void @g()
define i64 @f() {
  %r = call anyregcc i64 (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.i64(i64 1, i32 16, ptr null, i32 0)
  call void @g()
  ret i64 %r
}
"""
"""A value that a call leaves in any register: what is left of it after a spill lives where all registers are clobbered."""
AT_ONCE = 1500


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
    for decider, splits in product(("first", "last", f"random:{index}"), SPLITS):
        compile_(source, level, *CSMITH_FLAGS, *clang_flags(allocator(decider, splits)), output=tmp_path / "program")
        assert run(tmp_path / "program") == expected, (decider, splits)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OUTPUTS))
@pytest.mark.parametrize("target", TARGETS)
def test_program_for_another_target_prints_the_same(target: str, name: str, tmp_path: Path) -> None:
    (source,) = corpora.embedded(f"embedded/{name}")
    for decider, splits in product(("heuristic", "random:1", "random:2"), SPLITS):
        flags = [f"--target={target}", "-O2", "-fuse-ld=lld", "-static", *clang_flags(allocator(decider, splits))]
        compile_(source, *flags, "-lm", output=tmp_path / "program")
        printed = subprocess.run([TARGETS[target], tmp_path / "program"], check=True, capture_output=True, text=True, timeout=300).stdout
        assert printed == OUTPUTS[name], (decider, splits)


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


@pytest.mark.parametrize("decider", ["heuristic", *(f"random:{seed}" for seed in range(16))])
def test_part_that_a_spill_has_left_is_not_spilled_again(decider: str, tmp_path: Path) -> None:
    (tmp_path / "patched.ll").write_text(PATCHED)
    only_allocated = ("-stop-after=virtregrewriter", "-pass-remarks=mlcb")  # stock cannot print such code
    said = llc(tmp_path / "patched.ll", *allocator(decider, 2), *only_allocated, output=tmp_path / "patched.mir")
    splits, spills = map(int, re.findall(r"(\d+) splits?, (\d+) spills", said)[0])
    assert spills <= splits + 1


@pytest.mark.parametrize("decider", ["heuristic", "policy"])
def test_many_live_ranges_at_once_are_allocated_in_time(decider: str, tmp_path: Path) -> None:
    loads = "".join(f"int a{i} = p[{i}]; " for i in range(AT_ONCE))
    stores = "".join(f"p[{i}] = a{i * 7 % AT_ONCE}; " for i in range(AT_ONCE))
    (tmp_path / "program.c").write_text(f"void f(volatile int *p) {{ {loads} {stores} }}")
    compile_(tmp_path / "program.c", "-O2", "-c", "-emit-llvm", output=tmp_path / "program.bc")
    asking = ["-mlcb-runner=default:"] if decider == "policy" else []
    llc(tmp_path / "program.bc", *allocator(), *asking, output=tmp_path / "program.o")


def test_unknown_decider_is_refused(module: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        llc(module, *allocator("never"), output=tmp_path / "object.o")
    assert "-mlcb-regalloc-decider=never: expected heuristic, first, last or random:SEED" in refused.value.stderr
