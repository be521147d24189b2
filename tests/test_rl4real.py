# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Four agents that allocate registers: whatever they answer, the code is right; their heuristic is the allocator's own."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.record import Observation
from mlcb_gym.envs.regalloc import LLC
from mlcb_gym.envs.rl4real import RL4ReAlEnv, first, heuristic
from mlcb_gym.errors import TaskError
from mlcb_gym.session.objects import object_metrics
from mlcb_gym.spec import AGENT, MASK, acting_agent
from tests.support.allocation import LLC_22, PROGRAM, optimized, stock
from tests.support.asking import compile_asking, with_policy
from tests.support.episodes import finish
from tests.support.known_output import OUTPUTS, compile_, run

AGENTS = ("selector", "tasker", "splitter", "colourer")
SAMPLE = "train/fft"


@pytest.fixture(scope="module")
def env() -> Iterator[RL4ReAlEnv]:
    with closing(RL4ReAlEnv(programs=PROGRAM, metrics=("size", "executed_guarded"), verify=True)) as made:
        yield made


def randomly(seed: int) -> Any:
    drawn = np.random.default_rng(seed)

    def choose(observation: Observation) -> int:
        return int(drawn.choice(np.flatnonzero(acting_agent(observation)[1][MASK])))

    return choose


def test_heuristic_answers_are_the_allocators_own(env: RL4ReAlEnv, tmp_path: Path) -> None:
    _, _, info = finish(env, heuristic)
    module = optimized(PROGRAM, tmp_path)
    command = with_policy([LLC_22, *LLC, "-regalloc=mlcb", "-mlcb-regalloc-splits=4", module, "-o", tmp_path / "object.o"], "default:")
    subprocess.run(command, check=True, capture_output=True)
    with closing(RL4ReAlEnv(programs=str(module), pipeline="", optsize=True, metrics=("size",))) as same:
        _, _, of_module = finish(same, heuristic)
    assert of_module["size"] == object_metrics(tmp_path / "object.o", ["size"])["size"]
    assert info["executed"] > 0


@pytest.mark.parametrize("seed", range(3))
def test_random_answers_are_verified_and_guarded(env: RL4ReAlEnv, seed: int) -> None:
    _, steps, info = finish(env, randomly(seed))
    assert steps > 100
    assert info["executed_guarded"] <= info["executed_default"]


def test_every_agent_acts_and_sees_only_what_it_may_choose(env: RL4ReAlEnv) -> None:
    acted = set()

    def choose(observation: Observation) -> int:
        number, seen = acting_agent(observation)
        acted.add(AGENTS[number])
        assert seen[MASK].sum() > 1
        assert seen[MASK][heuristic(observation)]
        return int(np.flatnonzero(seen[MASK])[-1])

    finish(env, choose)
    assert {"selector", "tasker", "colourer"} <= acted


def test_ranges_are_shown_the_densest_first(env: RL4ReAlEnv) -> None:
    observation, _ = env.reset(options={"program": PROGRAM})
    assert observation[AGENT] == AGENTS.index("selector")
    seen = observation["selector"]
    shown = seen[MASK].astype(bool)
    assert (np.diff(seen["density"][shown]) <= 0).all()
    assert not seen["density"][~shown].any()
    assert (seen["waiting"] <= seen["degree"]).all()


def test_same_answers_make_the_same_code(env: RL4ReAlEnv) -> None:
    once, again = (finish(env, randomly(5)) for _ in range(2))
    assert once[:2] == again[:2]
    assert (once[2]["size"], once[2]["executed"]) == (again[2]["size"], again[2]["executed"])


def test_clone_goes_on_as_its_original(env: RL4ReAlEnv) -> None:
    env.reset(options={"program": PROGRAM})
    for _ in range(20):
        env.step(first(env.observation))
    with closing(env.fork()) as clone:
        ends = []
        for each in (env, clone):
            ended = False
            while not ended:
                _, _, ended, _, info = each.step(first(each.observation))
            ends.append(info["executed"])
    assert ends[0] == ends[1]


@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_program_prints_the_same_whatever_a_model_answers(level: str, tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)

    def model(agent: str, tensors: Any) -> int:
        return int(drawn.choice(np.flatnonzero(tensors[MASK])))

    (source,) = corpora.embedded(f"embedded/{SAMPLE}")[:1]
    compile_asking([*stock("clang", source, tmp_path / "program.o"), level], "rl4real", model, tmp_path)
    compile_(tmp_path / "program.o", "-lm", output=tmp_path / "program")
    assert run(tmp_path / "program") == OUTPUTS[SAMPLE]


def test_unoptimized_code_is_stocks(tmp_path: Path) -> None:
    (program,) = resolve(PROGRAM)
    command = [*stock("clang", program.bitcode, tmp_path / "stock.o"), "-O0"]
    subprocess.run(command, check=True)
    asked = [*stock("clang", program.bitcode, tmp_path / "asked.o"), "-O0"]
    subprocess.run(with_policy(asked, "default:"), check=True)
    assert (tmp_path / "asked.o").read_bytes() == (tmp_path / "stock.o").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"compiler": "stock"}, "a stock compiler has no such allocator, expected 'plugin'"),
        ({"forbidden": [0]}, "an action means something else for each agent"),
        ({"splits": -1}, "splits"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(TaskError, match=said):
        RL4ReAlEnv(programs=PROGRAM, **arguments)
