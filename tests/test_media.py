# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""However a policy is asked, it decides alike; and so the same seed is the same training, to the last bit."""

import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import TaskError
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.export.checkpoint import load_network
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.session import PluginSession, Session, WorkerSession, open_session
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment
from tests.support.deployment import make_env, make_policy, opt
from tests.support.posetrl import ACTIONS
from tests.support.processes import ends
from tests.support.serving import Served, serving

PROGRAM = "embedded/test/scheduler"
PROGRAMS = ["embedded/train/fft", "embedded/train/sorts"]
MEDIA = ["pipe:", "pipe:?serdes=json", "shm:", "shm:?serdes=protobuf", "grpc", "grpc?serdes=json"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def beside_us(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return learnt(tmp_path_factory.mktemp("worker"), "worker:")


def learnt(output: Path, session: str) -> tuple[Any, Any]:
    """The curve of a short training, and the weights that it ends with."""
    arguments = {"programs": PROGRAMS, "actions": ACTIONS, "max_steps": 4, "session": session}
    changes = {"steps_per_iteration": 32, "num_envs": 2, "statistics_episodes": 2, "seed": 7}
    train(
        Environment("PosetRL-v0", arguments),
        recipe=recipe("ppo", changes),
        validation=PROGRAMS[:1],
        output=output,
        budget=Budget(iterations=2, validate_every=1),
        console=Console(file=io.StringIO()),
    )
    last = output / "last"
    curve = [{**point, "seconds": 0} for point in read_run(last)["progress"]["curve"]]
    return curve, load_network(last).state_dict()


@pytest.fixture(scope="module")
def policy(worker: WorkerSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_policy(make_env(worker), tmp_path_factory.mktemp("media") / "policy", seed=3)


def decided(policy: Path, session: Session | str) -> list[tuple[int, float]]:
    """The policy's decisions on one program, and the size after each."""
    decide = OnnxPolicy(policy)
    decisions: list[tuple[int, float]] = []
    with closing(make_env(session, programs=PROGRAM)) as env:
        observation, _ = env.reset()
        ended = False
        while not ended:
            action = int(decide.advice(observation))
            observation, _, ended, _, info = env.step(action)
            decisions.append((action, info["size"]))
    return decisions


@pytest.mark.parametrize("serializer", ["bitstream", "json", "protobuf"])
@pytest.mark.parametrize("medium", ["worker:", "pipe:", "shm:", "grpc"])
def test_every_medium_and_serializer_bring_the_same_decisions(
    medium: str, serializer: str, policy: Path, served: Served, worker: WorkerSession
) -> None:
    decisions = decided(policy, f"{medium.replace('grpc', served.uri)}?serdes={serializer}")
    assert decisions == decided(policy, worker)
    assert len(decisions) > 1


@pytest.mark.parametrize("runner", ["onnx", "aot"])
def test_policy_in_process_makes_the_module_that_it_makes_from_python(runner: str, policy: Path, tmp_path: Path) -> None:
    decided(policy, PluginSession(keep=tmp_path / "asked.bc"))
    place = compile_policy(policy, tmp_path / "policy.so") if runner == "aot" else policy
    assert opt(resolve(PROGRAM)[0], tmp_path / "own.bc", f"-mlcb-runner={runner}:{place}").returncode == 0
    assert (tmp_path / "own.bc").read_bytes() == (tmp_path / "asked.bc").read_bytes()


@pytest.mark.parametrize("medium", MEDIA)
def test_same_seed_trains_to_the_same_weights(medium: str, beside_us: tuple[Any, Any], served: Served, tmp_path: Path) -> None:
    curve, weights = learnt(tmp_path / "run", medium.replace("grpc", served.uri))
    assert curve == beside_us[0]
    assert weights.keys() == beside_us[1].keys()
    assert all(torch.equal(value, weights[name]) for name, value in beside_us[1].items())


def test_environment_ends_the_session_that_it_opened(program: Path, served: Served) -> None:
    with closing(PosetRLEnv(programs=program, actions=ACTIONS, session=served.uri)) as env:
        env.reset(seed=1)
        watched = served.workers()
        assert watched
    assert ends(watched)


@pytest.mark.parametrize(
    "uri",
    [
        *("", "tcp://localhost", "pipe:/tmp/x", "worker:1", "worker://host", "shm:#1"),
        *("worker:?serdez=json", "pipe:?timeout=1", "shm:?json", "worker:?serdes="),
    ],
)
def test_uri_that_is_none_is_named(uri: str) -> None:
    with pytest.raises(TaskError, match=r"session='.*': expected worker:, pipe:, shm: or grpc://HOST:PORT"):
        open_session(uri)
