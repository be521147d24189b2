# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy folder: what is in it, that it is whole or absent, and that it decides as torch does."""

import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch

import mlcb_gym
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.agents.network import LogitsNetwork
from mlcb_gym.errors import PolicyError
from mlcb_gym.export.export import export_policy, write_policy
from mlcb_gym.export.parity import compare, greedy_observations
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.random_policy import random_observations
from tests.support.known_optimum import ACTIONS, PROGRAMS, TENSORS, ToyEnv, ToyVectorEnv

ENV = ToyEnv()
SPEC = ENV.task_spec.declared


@pytest.fixture(scope="module")
def network() -> LogitsNetwork:
    torch.manual_seed(1)
    made = LogitsNetwork(ENV.observation_space, ENV.action_space, NetworkConfig(final_gain=1.0, dropout=0.1), Architecture.of(ENV))
    made.features.standardise(batch(random_observations([ToyEnv()], PROGRAMS, episodes=32, seed=1)))
    return made.eval()


@pytest.fixture(scope="module")
def folder(network: LogitsNetwork, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_policy(network, tmp_path_factory.mktemp("export") / "policy", spec=SPEC, trained={"seed": 1}, results={})


def test_manifest_says_all_that_a_compiler_must_know(folder: Path) -> None:
    manifest = json.loads((folder / "policy.json").read_text())
    assert {key: manifest[key] for key in ("format", "task", "digest", "agents", "spec", "parameters")} == {
        "format": 1,
        "task": SPEC["task"],
        "digest": SPEC["digest"],
        "agents": {"orderer": "orderer.onnx"},
        "spec": SPEC,
        "parameters": SPEC["parameters"],
    }


def test_inputs_are_the_declared_tensors_without_the_mask(folder: Path) -> None:
    types = {"float32": "tensor(float)", "int64": "tensor(int64)"}
    inputs = [(i.name, i.type, i.shape) for i in OnnxPolicy(folder).sessions[0].get_inputs()]
    assert inputs == [(name, types[dtype], ["batch", *shape]) for name, dtype, shape, _, _ in TENSORS]


def test_no_file_names_a_path_of_the_machine_that_exported_it(folder: Path) -> None:
    paths = [str(Path(module.__file__ or "").parents[1]).encode() for module in (mlcb_gym, torch)]
    assert [file.name for file in folder.iterdir() if any(path in file.read_bytes() for path in paths)] == []


def test_output_is_a_logit_for_each_action(folder: Path) -> None:
    (output,) = OnnxPolicy(folder).sessions[0].get_outputs()
    assert (output.name, output.type, output.shape) == ("logits", "tensor(float)", ["batch", len(ACTIONS)])


def test_onnx_runtime_decides_as_torch_does(network: LogitsNetwork, folder: Path) -> None:
    observations = greedy_observations(network, ToyVectorEnv(2).envs, PROGRAMS)
    parity = compare(network, OnnxPolicy(folder), observations)
    assert parity.observations == len(observations)
    assert parity.max_error < 1e-4
    assert parity.disagreements == 0


def test_other_weights_decide_otherwise(network: LogitsNetwork, folder: Path) -> None:
    other = deepcopy(network)
    assert isinstance(other.head, Mlp)
    torch.nn.init.normal_(other.head[-1].weight)  # type: ignore[arg-type]
    parity = compare(other, OnnxPolicy(folder), greedy_observations(network, ToyVectorEnv(2).envs, PROGRAMS))
    assert parity.max_error > 1e-2
    assert parity.disagreements > 0


def test_batch_axis_is_dynamic(network: LogitsNetwork, folder: Path) -> None:
    (session,) = OnnxPolicy(folder).sessions
    observation, _ = ENV.reset(seed=1)
    feed = {i.name: np.repeat(observation[i.name][None], 7, axis=0) for i in session.get_inputs()}
    assert session.run(None, feed)[0].shape == (7, len(ACTIONS))


def test_older_policy_is_replaced_whole(network: LogitsNetwork, tmp_path: Path) -> None:
    target = tmp_path / "policy"
    write_policy(network, target, spec=SPEC, trained={}, results={})
    (target / "stale").touch()
    write_policy(network, target, spec=SPEC, trained={}, results={})
    assert sorted(p.name for p in target.iterdir()) == ["orderer.onnx", "policy.json"]
    assert list(tmp_path.iterdir()) == [target]


def test_folder_of_other_things_is_left_alone(network: LogitsNetwork, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(PolicyError, match="other things"):
        write_policy(network, tmp_path, spec=SPEC, trained={}, results={})
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_failed_export_leaves_nothing(network: LogitsNetwork, tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_policy(network, tmp_path / "policy", spec=SPEC, trained={"unwritable": object()}, results={})
    assert list(tmp_path.iterdir()) == []


def test_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no checkpoint"):
        export_policy(tmp_path, tmp_path / "policy")
