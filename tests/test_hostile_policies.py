# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policy folders that are broken on purpose: each is one line of error, and nothing waits."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlcb_gym import _native
from mlcb_gym.envs import env_class
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import PolicyError
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy, in_process
from mlcb_gym.session import WorkerSession


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(shipped()["inliner"], tmp_path / "policy"))


def model(folder: Path) -> Path:
    (name,) = json.loads((folder / "policy.json").read_text())["agents"].values()
    return folder / str(name)


def always(folder: Path, logits: list[float]) -> None:
    """Makes the model one that answers the same whatever it is asked."""
    output = onnx.load(str(model(folder))).graph.output[0]
    constant = numpy_helper.from_array(np.array([logits], np.float32), "constant")
    answer = helper.make_tensor_value_info(output.name, TensorProto.FLOAT, [1, len(logits)])
    graph = helper.make_graph([helper.make_node("Identity", ["constant"], [output.name])], "always", [], [answer], [constant])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    made.ir_version = 8
    model(folder).write_bytes(made.SerializeToString())


@pytest.fixture(scope="module")
def observation(worker: WorkerSession) -> Observation:
    env = env_class("inliner")(programs="embedded/train/dijkstra", session=worker, **OnnxPolicy(shipped()["inliner"]).env_arguments)
    return env.reset(seed=1)[0]


def test_logits_that_are_all_nan_are_an_error(folder: Path, observation: Observation) -> None:
    always(folder, [np.nan, np.nan])
    with pytest.raises(_native.InvalidArgument, match="says NaN for all that its mask allows") as caught:
        in_process(f"onnx:{folder}", [observation])
    assert "\n" not in str(caught.value)
    with pytest.raises(PolicyError, match="NaN for all that its mask allows"):
        OnnxPolicy(folder).advice(observation)


@pytest.mark.parametrize(("logits", "best"), [([np.nan, -1.0], 1), ([-np.inf, np.nan], 0)])
def test_logit_that_is_nan_counts_as_masked(folder: Path, observation: Observation, logits: list[float], best: int) -> None:
    always(folder, logits)
    assert in_process(f"onnx:{folder}", [observation]) == [best] == [OnnxPolicy(folder).advice(observation)]


@pytest.mark.parametrize("name", ["policy.json", "model"])
def test_fifo_in_a_policy_is_refused_at_once(folder: Path, observation: Observation, name: str) -> None:
    path = model(folder) if name == "model" else folder / name
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(_native.NativeError, match=f"{path} is (a FIFO|no regular file), expected"):
        in_process(f"onnx:{folder}", [observation])
