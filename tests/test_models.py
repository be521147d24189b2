# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An episode is left to models in the compiler: they decide there as they do here."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import gymnasium
import pytest
import torch
from torch import nn

import mlcb_gym  # noqa: F401
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import PolicyNetwork, policy_network
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import PolicyError, TaskError
from mlcb_gym.onnx.template import OnnxTemplate
from mlcb_gym.rollout.network_policy import InCompiler, greedy
from mlcb_gym.rollout.play import Decide, Delegate, episode, play_in_order
from mlcb_gym.session import PluginSession, RemoteSession, WorkerSession
from tests.support.serving import serving

PROGRAM = "embedded/train/dijkstra"
TASKS: dict[str, dict[str, Any]] = {
    "PosetRL-v0": {"programs": PROGRAM, "max_steps": 3},
    "Inliner-v0": {"programs": PROGRAM},
    "RegAllocEviction-v1": {"programs": PROGRAM},
    "RegAllocPriority-v1": {"programs": PROGRAM},
    "RL4ReAl-v0": {"programs": PROGRAM},
    "LoopDistribution-v0": {"programs": "loops/train/mixed_division", "dimension": 0},
}


def make(name: str, **arguments: Any) -> CompilerEnv:
    env = gymnasium.make(name, **TASKS[name] | arguments).unwrapped
    assert isinstance(env, CompilerEnv)
    return env


def network(env: CompilerEnv, seed: int = 1) -> PolicyNetwork:
    torch.manual_seed(seed)
    drawn = policy_network(env.observation_space, env.action_space, NetworkConfig(hidden=(16,)), Architecture.of(env)).eval()
    for parameter in drawn.parameters():
        nn.init.normal_(parameter, std=0.3)
    return drawn


EXPORTED: dict[str, InCompiler] = {}


def leaving(env: CompilerEnv, played: PolicyNetwork) -> Decide:
    """What leaves an episode to a network; the export, which takes seconds, is done once for a task."""
    if env.task_spec.digest not in EXPORTED:
        EXPORTED[env.task_spec.digest] = InCompiler(network(env), env)
    return EXPORTED[env.task_spec.digest](played)


def end(env: CompilerEnv, decide: Decide) -> dict[str, float]:
    """What an episode comes to."""
    (trace,) = play_in_order([env], [episode(env.programs[0], decide)])
    assert trace.error is None
    return dict(trace.measured)


@pytest.fixture
def eviction(worker: WorkerSession) -> Iterator[CompilerEnv]:
    with closing(make("RegAllocEviction-v1", session=worker)) as env:
        yield env


@pytest.mark.parametrize("name", TASKS)
def test_models_decide_in_the_compiler_as_here(name: str, worker: WorkerSession) -> None:
    with closing(make(name, session=worker, dense=False)) as env:
        for seed in range(3):
            played = network(env, seed)
            assert end(env, leaving(env, played)) == end(env, greedy(played, env))


def test_models_take_over_in_the_middle(eviction: CompilerEnv) -> None:
    played = network(eviction)
    decided = 0

    def here(observation: Any) -> Any:
        nonlocal decided
        decided += 1
        return greedy(played, eviction)(observation) if decided <= 5 else leaving(eviction, played)(observation)

    assert end(eviction, here) == end(eviction, greedy(played, eviction))
    assert decided == 6


def test_step_that_leaves_an_episode_is_its_last(eviction: CompilerEnv) -> None:
    played = network(eviction)
    command = leaving(eviction, played)({})
    assert isinstance(command, Delegate)
    eviction.reset()
    _, reward, terminated, truncated, info = eviction.delegate(command.models)
    assert (terminated, truncated) == (True, False)
    assert reward == pytest.approx(1 - info["ratio"])
    with pytest.raises(gymnasium.error.ResetNeeded):
        eviction.delegate(command.models)


@pytest.mark.parametrize("open_session", [PluginSession, lambda: PluginSession(channel="shm")], ids=["pipe", "shm"])
def test_opt_with_the_plugin_takes_models(open_session: Callable[[], PluginSession]) -> None:
    with closing(make("PosetRL-v0", session=open_session(), dense=False)) as env:
        played = network(env)
        for _ in range(2):
            assert end(env, leaving(env, played)) == end(env, greedy(played, env))


def test_worker_behind_grpc_takes_models() -> None:
    with serving() as served, closing(RemoteSession(served.uri)) as session, closing(make("RegAllocEviction-v1", session=session)) as env:
        played = network(env)
        assert end(env, leaving(env, played)) == end(env, greedy(played, env))


@pytest.mark.parametrize(("model", "reason"), [(b"no model", " cannot be read, expected an ONNX model"), (b"", ": ")], ids=["text", "empty"])
def test_what_is_no_model_ends_the_episode_with_a_reason(model: bytes, reason: str, eviction: CompilerEnv) -> None:
    eviction.reset()
    _, reward, terminated, _, info = eviction.delegate([model])
    assert (reward, terminated) == (-1, True)
    assert info["error"].startswith(f"the learner's model{reason}")
    eviction.reset()


def test_model_of_another_task_is_refused_by_what_does_not_fit(eviction: CompilerEnv, worker: WorkerSession) -> None:
    with closing(make("RegAllocPriority-v1", session=worker)) as env:
        other = OnnxTemplate(network(env), env.task_spec.declared["agents"][0]).filled(network(env))
    eviction.reset()
    *_, info = eviction.delegate([other])
    assert "is none of agent 'advisor'" in info["error"]


def test_number_of_models_is_that_of_agents(eviction: CompilerEnv) -> None:
    eviction.reset()
    with pytest.raises(TaskError, match="2 models, expected 1: one for each agent"):
        eviction.delegate([b"", b""])


def test_stock_compiler_takes_no_models() -> None:
    with closing(make("RegAllocEviction-v1", compiler="stock")) as env:
        env.reset()
        with pytest.raises(TaskError, match="a stock compiler takes no models"):
            env.delegate([b""])
        env.reset()


def test_function_is_not_left_to_models(worker: WorkerSession) -> None:
    with closing(make("RegAllocEviction-v1", session=worker, episode="function")) as env:
        env.reset()
        with pytest.raises(TaskError, match='expected episode="module"'):
            env.delegate([b""])


class Doubled(nn.Module):
    """Stores its weights, but looks at their double."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 33))

    def forward(self, observation: dict[str, torch.Tensor]) -> torch.Tensor:
        return observation["weight"].float() @ (self.weight * 2)


def test_parameter_that_an_exporter_folds_away_is_named() -> None:
    agent = {
        "name": "advisor",
        "inputs": [{"name": "weight", "dtype": "float32", "shape": [4], "role": "input"}],
        "advice": {"kind": "argmax", "choices": 33},
    }
    with pytest.raises(PolicyError, match="weight: the ONNX file has no such weights"):
        OnnxTemplate(Doubled(), agent)
