# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tasks that decide function by function: whatever they choose, programs stay right."""

from pathlib import Path

import pytest

from mlcb_gym.corpus import corpora
from mlcb_gym.envs.action_lists import read_actions
from mlcb_gym.envs.function_posetrl import FunctionPosetRLEnv
from mlcb_gym.envs.function_size import FunctionSizeEnv
from tests.support.functions import TAIL_CALLS, at_random, outputs
from tests.support.known_output import CSMITH_FLAGS, CSMITH_PROGRAMS, OUTPUTS, SAMPLE, compile_, csmith, run

CHANGES = {FunctionSizeEnv: range(1, len(read_actions("attributes"))), FunctionPosetRLEnv: range(len(read_actions("functions")))}
"""The actions of each task that change a function."""
both = pytest.mark.parametrize("made", CHANGES, ids=lambda made: made.task)


@pytest.mark.parametrize(("made", "index"), [pytest.param(made, i, id=f"{made.task}-{i}") for made, indices in CHANGES.items() for i in indices])
@pytest.mark.parametrize("source", TAIL_CALLS.values(), ids=TAIL_CALLS)
def test_millions_of_tail_calls_fit_the_stack(made: type[FunctionSizeEnv], index: int, source: str, tmp_path: Path) -> None:
    (tmp_path / "mutual.c").write_text(source)
    compile_(tmp_path / "mutual.c", "-Oz", output=tmp_path / "stock")
    chosen = outputs(made, tmp_path / "mutual.c", tmp_path, lambda mask: index if mask[index] else 0, episodes=1)
    assert chosen == {run(tmp_path / "stock")}


@both
@pytest.mark.parametrize("name", SAMPLE)
def test_embedded_program_prints_the_same_after_a_random_episode(made: type[FunctionSizeEnv], name: str, tmp_path: Path) -> None:
    assert outputs(made, corpora.embedded(f"embedded/{name}")[0], tmp_path, at_random(1), episodes=1) == {OUTPUTS[name]}


@pytest.mark.slow
@both
@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_embedded_program_prints_the_same_after_10_random_episodes(made: type[FunctionSizeEnv], name: str, tmp_path: Path) -> None:
    assert outputs(made, corpora.embedded(f"embedded/{name}")[0], tmp_path, at_random(2), episodes=10) == {OUTPUTS[name]}


@pytest.mark.slow
@both
@pytest.mark.parametrize("index", range(CSMITH_PROGRAMS))
def test_csmith_program_prints_the_same_after_5_random_episodes(made: type[FunctionSizeEnv], index: int, tmp_path: Path) -> None:
    source, expected = csmith(index, tmp_path)
    assert outputs(made, source, tmp_path, at_random(index), episodes=5, flags=CSMITH_FLAGS) == {expected}
