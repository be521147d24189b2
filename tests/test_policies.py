# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every policy that ships fits this build, decides alike in every runtime, and has a card."""

from contextlib import closing
from pathlib import Path

import pytest

from mlcb_gym import _native
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.compiler_env import Observation
from mlcb_gym.export.parity import OnnxPolicy
from mlcb_gym.policies import shipped
from mlcb_gym.session import WorkerSession
from mlcb_gym.spec import bind
from mlcb_gym.training.rollouts import episode, play

POLICIES = sorted(shipped().items())
PROGRAMS = ("embedded/test/aes", "embedded/test/btree", "embedded/validation/huffman")


@pytest.mark.parametrize(("name", "folder"), POLICIES, ids=lambda value: str(value))
def test_policy_is_bound_to_this_build(name: str, folder: Path) -> None:
    manifest = OnnxPolicy(folder).manifest
    assert bind(manifest["task"], manifest["parameters"]).digest == manifest["digest"]


@pytest.mark.parametrize(("name", "folder"), POLICIES, ids=lambda value: str(value))
def test_policy_decides_alike_in_process(name: str, folder: Path, worker: WorkerSession) -> None:
    policy = OnnxPolicy(folder)
    chosen: list[tuple[int, int]] = []
    with closing(_native.Compiler.open(f"onnx:{folder}")) as compiler:

        def choose(observation: Observation) -> int:
            chosen.append((policy.choose(observation), int(compiler.observe(0, observation))))
            return chosen[-1][0]

        env = env_class(policy.task)(programs=PROGRAMS, session=worker, **policy.env_arguments)
        traces = list(play([env], (episode(program, choose) for program in resolve(PROGRAMS))))
    assert all(in_python == in_process for in_python, in_process in chosen)
    assert not any(trace.error for trace in traces)


@pytest.mark.parametrize(("name", "folder"), POLICIES, ids=lambda value: str(value))
def test_policy_has_a_card(name: str, folder: Path) -> None:
    assert (folder / "README.md").read_text().startswith("# ")
