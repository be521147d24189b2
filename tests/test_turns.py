# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments of several agents: Gymnasium's, RLlib's and PettingZoo's view of one episode."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit, TransformReward
from pettingzoo.test import api_test, seed_test

from mlcb_gym._native import Compiler
from mlcb_gym.envs.aec import CompilerAecEnv
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.flattened import FlattenedObservation
from mlcb_gym.envs.multi_agent import RllibMultiAgentEnv
from mlcb_gym.envs.objective import Objective
from mlcb_gym.envs.priority import PriorityEnv
from mlcb_gym.spec import TaskSpec
from mlcb_gym.testing import ScriptedCompiler


def agent(name: str, tensors: list[dict[str, Any]], choices: int) -> dict[str, Any]:
    mask = {"name": "action_mask", "dtype": "int8", "shape": [choices], "role": "mask"}
    return {"name": name, "inputs": [*tensors, mask], "advice": {"kind": "argmax", "name": "choice", "choices": choices}}


SPEC = json.dumps(
    {
        "task": "turns",
        "metrics": [{"name": "cost", "dtype": "int64"}],
        "agents": [
            agent("selector", [{"name": "nodes", "dtype": "float32", "shape": [{"at_most": 4}, 2], "low": -1, "high": 1}], 4),
            agent("splitter", [{"name": "last", "dtype": "int64", "shape": [1], "low": 0, "high": 3}], 2),
        ],
    }
)


class Selecting(ScriptedCompiler):
    """The compiler of a task that it alone declares."""

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        with Compiler.open("default:", SPEC) as compiler:
            return TaskSpec(compiler.spec)


class TurnsEnv(CompilerEnv):
    task = "turns"


COST = Objective(("cost",), lambda before, after: before["cost"] - after["cost"])


@pytest.fixture
def env() -> Iterator[TurnsEnv]:
    made = TurnsEnv(programs="embedded/train/fft", parameters={}, objective=COST, session=Selecting(horizon=6))
    yield made
    made.close()


def test_observation_says_who_is_asked_and_fills_its_part_alone(env: TurnsEnv) -> None:
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert observation["agent"] == 0
    assert observation["selector"]["nodes"].shape == (4, 2)
    assert not any(value.any() for value in observation["splitter"].values())
    assert info["action_mask"].tolist() == [1, 1, 1, 1]
    observation, _, _, _, info = env.step(3)
    assert observation["agent"] == 1
    assert not any(value.any() for value in observation["selector"].values())
    assert info["action_mask"].tolist() == [1, 1, 0, 0]


def test_choice_that_another_agent_has_is_illegal(env: TurnsEnv) -> None:
    env.reset(seed=1)
    env.step(3)
    _, _, terminated, _, info = env.step(3)
    assert terminated
    assert "illegal action 3: action_mask does not allow it" in info["error"]


def test_gymnasium_checks_it(env: TurnsEnv) -> None:
    check_env(env, skip_render_check=True)


def test_rllib_hears_of_one_agent_at_a_time_and_of_all_at_the_end(env: TurnsEnv) -> None:
    rllib = RllibMultiAgentEnv(env)
    observations, infos = rllib.reset(seed=1)
    turns, returns, ended = [], dict.fromkeys(rllib.possible_agents, 0.0), False
    while not ended:
        ((name, observation),) = observations.items()
        assert rllib.observation_spaces[name].contains(observation)
        space = rllib.action_spaces[name]
        assert isinstance(space, spaces.Discrete)
        assert len(infos[name]["action_mask"]) == space.n
        turns.append(name)
        observations, rewards, terminated, _, infos = rllib.step({name: 1})
        returns = {agent: returns[agent] + rewards.get(agent, 0.0) for agent in returns}
        ended = terminated["__all__"]
    assert turns == ["selector", "splitter"] * 3
    assert set(observations) == {"selector", "splitter"}
    assert returns == {"selector": 60.0, "splitter": 50.0}


@pytest.mark.filterwarnings("ignore::UserWarning:pettingzoo")
def test_pettingzoo_checks_it(env: TurnsEnv) -> None:
    api_test(CompilerAecEnv(env), num_cycles=30)


def test_pettingzoo_repeats_a_seed(env: TurnsEnv) -> None:
    def make() -> CompilerAecEnv:
        return CompilerAecEnv(TurnsEnv(programs="embedded/train", parameters={}, objective=COST, session=Selecting(horizon=6)))

    seed_test(make, num_cycles=20)


def test_last_agent_is_paid_for_what_it_did(env: TurnsEnv) -> None:
    aec = CompilerAecEnv(env)
    aec.reset(seed=1)
    paid = dict.fromkeys(aec.possible_agents, 0.0)
    for name in aec.agent_iter():
        _, reward, terminated, truncated, _ = aec.last()
        paid[name] += reward
        aec.step(None if terminated or truncated else 0)
    assert paid == {"selector": 60.0, "splitter": 50.0}
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.int64(0))


def test_rllib_hears_of_a_limit_of_steps(env: TurnsEnv) -> None:
    rllib = RllibMultiAgentEnv(TimeLimit(env, max_episode_steps=2))
    rllib.reset(seed=1)
    assert rllib.step({"selector": 1})[3] == {"__all__": False}
    assert rllib.step({"splitter": 1})[3] == {"__all__": True}


def test_pettingzoo_hears_of_a_limit_of_steps_and_of_another_reward(env: TurnsEnv) -> None:
    aec = CompilerAecEnv(TransformReward(TimeLimit(env, max_episode_steps=1), lambda reward: 2 * float(reward)))
    aec.reset(seed=1)
    aec.step(1)
    assert aec.truncations == {"selector": True, "splitter": True}
    assert aec.rewards == {"selector": 20.0, "splitter": 0.0}


def test_arguments_may_limit_the_steps() -> None:
    arguments = {"programs": "embedded/train/fft", "actions": ["default<Oz>", "stop"], "session": ScriptedCompiler()}
    with closing(RllibMultiAgentEnv({"id": "PosetRL-v0", "max_episode_steps": 1, **arguments})) as rllib:
        rllib.reset(seed=1)
        assert rllib.step({rllib.possible_agents[0]: 0})[3] == {"__all__": True}


def test_only_agent_has_the_spaces_of_its_environment() -> None:
    with closing(PriorityEnv(programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))) as env:
        for wrapper in (RllibMultiAgentEnv(env), CompilerAecEnv(env)):
            assert wrapper.action_spaces == {env.agent.name: spaces.Box(0, 1, (1,), np.float32)}
            assert wrapper.observation_spaces == {env.agent.name: env.observation_space}


def test_only_agent_has_the_observations_of_a_wrapper() -> None:
    with closing(PriorityEnv(programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))) as env:
        flattened = FlattenedObservation(env)
        ((_, observation),) = RllibMultiAgentEnv(flattened).reset(seed=1)[0].items()
        assert flattened.observation_space.contains(observation)
