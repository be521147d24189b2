# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first actions, each compiled: clang keeps the least in each function, and the evaluation foretells it."""

import re
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.envs.function_size import FunctionSizeEnv
from mlcb_gym.errors import PolicyError
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.play import play_in_order
from mlcb_gym.search.candidates import best_of_each, nth_allowed

PROGRAMS = corpora.embedded("embedded/validation")
LEAST = "the least of each function"


def config(folder: Path, *tasks: str, candidates: int = 0) -> Path:
    policies = [shipped()[task] for task in tasks]
    return write_clang_config(folder / f"{'-'.join(tasks)}{candidates}.cfg", policies, candidates=candidates)


def compile_(config: Path | None, program: Path, output: Path, *flags: str) -> str:
    configured = [] if config is None else [f"--config={config}"]
    command: list[str | Path] = [toolchain.tool("clang"), *configured, "-Oz", "-w", "-Rpass=mlcb", *flags, "-c", program, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stderr


def tried(said: str) -> tuple[dict[str, int], str]:
    """The bytes of each way, and the one that was kept."""
    ways, kept = re.findall(r"remark: (candidate.*); kept: (.*) \[-Rpass", said)[-1]
    return {name: int(size) for name, size in re.findall(r"(\w[^,:]*): (\d+) bytes", ways)}, kept


def allocated(object_file: Path) -> int:
    """The bytes of all allocated sections but BSS."""
    said = subprocess.run([toolchain.tool("llvm-readelf"), "-SW", object_file], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"\] \S* +(\w+) +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) \d\d +(\w*)", said)
    return sum(int(size, 16) for kind, size, flags in rows if "A" in flags and kind != "NOBITS")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_least_is_kept(program: Path, tmp_path: Path) -> None:
    ways, kept = tried(compile_(config(tmp_path, "function_size", candidates=3), program, tmp_path / "kept.o"))
    assert list(ways) == ["candidate 1", "candidate 2", "candidate 3", "stock", LEAST]
    assert ways[kept] == min(ways.values())
    compile_(None, program, tmp_path / "stock.o")
    assert allocated(tmp_path / "stock.o") - allocated(tmp_path / "kept.o") == ways["stock"] - ways[kept]


@pytest.mark.parametrize("candidates", [1, 3, 9])
def test_evaluation_foretells_what_clang_keeps(candidates: int, tmp_path: Path) -> None:
    with closing(FunctionSizeEnv(programs=PROGRAMS, dense=True)) as env:
        choices = [nth_allowed(index, env.default_action) for index in range(candidates)]
        foretold = play_in_order([env], [best_of_each(program, choices, env.default_action) for program in env.programs])
    for program, trace in zip(PROGRAMS, foretold, strict=True):
        compile_(config(tmp_path, "function_size", candidates=candidates), program, tmp_path / "kept.o")
        compile_(None, program, tmp_path / "stock.o")
        assert allocated(tmp_path / "kept.o") / allocated(tmp_path / "stock.o") == pytest.approx(trace.ratio, abs=0.004), program


@pytest.mark.parametrize("flags", [("-S",), ("-emit-llvm",)], ids=" ".join)
def test_what_is_no_object_is_decided_likewise(flags: tuple[str, ...], tmp_path: Path) -> None:
    """No fork goes on there: code is generated for the comparison, and once more by clang."""
    made = config(tmp_path, "function_size", candidates=2)
    (of_text, kept), (of_object, expected) = (tried(compile_(made, PROGRAMS[0], tmp_path / "kept.out", *more)) for more in (flags, ()))
    assert kept == expected
    assert {way: size - of_text["stock"] for way, size in of_text.items()} == {way: size - of_object["stock"] for way, size in of_object.items()}


def test_policies_of_pipelines_and_of_code_add_up(tmp_path: Path) -> None:
    both, kept = config(tmp_path, "posetrl", "function_size", candidates=2), set()
    for program in PROGRAMS:
        said = compile_(both, program, tmp_path / "kept.o")
        sizes = re.findall(r"remark: posetrl: (\d+) bytes, default<Oz>: (\d+) bytes; kept: (\S+)", said)
        assert len(sizes) == 1
        ways, best = tried(said)
        assert ways[best] == min(map(int, sizes[0][:2]))
        kept.add(sizes[0][2])
    assert len(kept) == 2, "programs of which each way is the smaller one"


def test_candidates_are_of_policies_that_decide_each_function_for_itself(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="candidates=3: posetrl, inliner cannot try each decision for itself"):
        config(tmp_path, "posetrl", "inliner", candidates=3)
