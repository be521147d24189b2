# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's own answers, given by a deployed policy, leave what stock clang leaves: on every program of the corpora that are built."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from mlcb_gym.agents.heuristic import Heuristic
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs import env_class
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import write_policy
from mlcb_gym.session import WorkerSession
from tests.support.known_output import compile_

PROGRAM = "embedded/validation/chacha20"
BUILT = [corpus for corpus in corpora.BUILT if corpora.folder(corpus).is_dir()]
SPLITS = [f"{corpus}/{split}" for corpus in ("embedded", *BUILT) for split in corpora.SPLITS]
"""Of those corpora that this machine has."""
RECURSIVE = """
int needed[64];
void need(int routine) {
  if (needed[routine])
    return;
  needed[routine] = 1;
  switch (routine) {
  case 8: need(9); need(23); break;
  case 12: need(8); need(30); break;
  case 20: need(12); need(31); break;
  case 31: need(20); break;
  }
}
int is_needed(int routine) { need(routine); need(3); return needed[routine + 1]; }
"""
"""-Oz inlines three calls of a function into itself."""
TASKS: dict[str, tuple[str, dict[str, Any]]] = {"inliner": ("-Oz", {"growth": 1e6}), "eviction": ("-O2", {}), "priority": ("-O2", {})}
"""By task: with which option clang asks about it, and arguments of the environment."""


class Opposite(Heuristic):
    """Anything but what the compiler would answer."""

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        return -super().forward(observation)


def config(network: type[Heuristic], task: str, worker: WorkerSession, folder: Path) -> str:
    """What makes clang ask a network about a task."""
    _, arguments = TASKS[task]
    with closing(env_class(task)(programs=PROGRAM, session=worker, **arguments)) as env:
        assert env.heuristic
        answering = network(env.heuristic, env.num_actions)
        policy = write_policy(answering, folder / "policy", spec=json.loads(env.task_spec.json), trained={}, results={})
    write_clang_config(folder / "clang.cfg", [policy])
    return f"--config={folder / 'clang.cfg'}"


def compiled(program: Program, level: str, *options: str, output: Path) -> bytes:
    compile_(program.bitcode, *options, level, "-w", "-c", output=output)
    contents = output.read_bytes()
    output.unlink()
    return contents


@pytest.mark.parametrize("task", TASKS)
def test_object_of_other_answers_is_another(worker: WorkerSession, task: str, tmp_path: Path) -> None:
    (program,) = resolve(PROGRAM)
    stock, own, other = (
        compiled(program, TASKS[task][0], *asking, output=tmp_path / "out.o")
        for asking in ((), (config(Heuristic, task, worker, tmp_path / "own"),), (config(Opposite, task, worker, tmp_path / "other"),))
    )
    assert stock == own != other


def test_function_is_inlined_into_itself_as_llvm_does(worker: WorkerSession, tmp_path: Path) -> None:
    source = tmp_path / "recursive.c"
    source.write_text(RECURSIVE)
    (program,) = resolve(source)
    asking = config(Heuristic, "inliner", worker, tmp_path)
    stock, own = (compiled(program, "-Oz", *options, output=tmp_path / "out.o") for options in ((), (asking,)))
    assert stock == own


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("split", SPLITS)
def test_objects_of_llvms_own_answers_are_stock_to_the_byte(worker: WorkerSession, task: str, split: str, tmp_path: Path) -> None:
    (level, _), asking = TASKS[task], config(Heuristic, task, worker, tmp_path)

    def differs(program: Program) -> bool:
        output = tmp_path / f"{program.digest}.o"
        return compiled(program, level, output=output) != compiled(program, level, asking, output=output)

    programs = resolve(split)
    with ThreadPoolExecutor(2) as pool:
        assert [p.name for p, different in zip(programs, pool.map(differs, programs), strict=True) if different] == []
