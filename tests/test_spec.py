# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one declaration reaches Python whole, and two ends that differ say how."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from mlcb_gym import _native
from mlcb_gym.errors import TaskError
from mlcb_gym.policies import shipped
from mlcb_gym.spec import TaskSpec, bind

ROOT = Path(__file__).parents[1]


def test_spaces_have_the_declared_names_shapes_and_dtypes() -> None:
    agent = bind("posetrl", {"actions": ["a", "b", "stop"], "history": 2}).agents[0]
    space = agent.observation_space
    assert list(space) == [tensor.name for tensor in agent.inputs] or set(space) == {tensor.name for tensor in agent.inputs}
    assert space["embedding"].shape == (300,)
    assert space["embedding"].dtype == np.float32
    assert space["last_actions"].shape == (2,)
    assert isinstance(agent.action_space, spaces.Discrete)
    assert agent.action_space.n == 3


def test_equal_parameters_give_equal_digests_whatever_their_order() -> None:
    first = bind("posetrl", {"actions": ["a"], "max_steps": 3})
    assert bind("posetrl", {"max_steps": 3, "actions": ["a"]}).digest == first.digest


@pytest.mark.parametrize("change", [{"actions": ["b"]}, {"max_steps": 4}, {"vocabulary": "x"}, {"observation": "symbolic"}])
def test_any_other_parameter_gives_another_digest(change: dict[str, object]) -> None:
    parameters = {"actions": ["a"], "max_steps": 3}
    assert bind("posetrl", parameters | change).digest != bind("posetrl", parameters).digest


@pytest.mark.parametrize("task", ["eviction", "inliner", "loop_distribution", "posetrl", "priority"])
def test_shipped_policy_keeps_its_digest(task: str) -> None:
    policy = json.loads((shipped()[task] / "policy.json").read_text())
    assert bind(task, policy["parameters"]).digest == policy["digest"]


@pytest.mark.parametrize("task", ["eviction", "inliner", "priority"])
def test_answer_of_the_heuristic_is_an_input_with_a_role(task: str) -> None:
    spec = bind(task, {})
    (agent,) = spec.agents
    assert agent.heuristic in agent.observation_space.spaces
    as_before = spec.json.replace('"role":"heuristic"', '"role":"input"')
    assert as_before != spec.json
    assert TaskSpec(as_before).digest == spec.digest
    assert "their digests do not" in _native.describe_mismatch(as_before, spec.json)


def test_unknown_task_and_parameter_are_named() -> None:
    with pytest.raises(TaskError, match=r"^task 'no-such-task' is not in this build, expected one of .*posetrl.*, or a build that has it$"):
        bind("no-such-task", {})
    with pytest.raises(TaskError, match="no_such_parameter"):
        bind("posetrl", {"no_such_parameter": 1})


def test_mismatch_is_one_sentence_that_names_tensor_and_shapes() -> None:
    short, long = (bind("posetrl", {"dimension": n}).json for n in (75, 300))
    sentence = _native.describe_mismatch(short, long)
    assert "posetrl/embedding" in sentence
    assert "float32[75]" in sentence
    assert "float32[300]" in sentence
    assert "\n" not in sentence


def test_encoded_tensors_are_decoded_as_they_were() -> None:
    spec = bind("posetrl", {"actions": ["a", "stop"], "dimension": 3})
    tensors = {t.name: np.arange(int(np.prod(t.shape, dtype=int))).reshape(t.shape).astype(t.dtype) for t in spec.agents[0].inputs}
    payload = _native.encode("bitstream", spec.json, 0, tensors, {"size": 7})
    decoded, metrics = _native.decode("bitstream", spec.json, 0, payload, ["size"])
    np.testing.assert_equal(decoded, tensors)
    assert metrics == {"size": 7}


def test_truncated_payload_is_refused() -> None:
    spec = TaskSpec(_native.bind("posetrl", json.dumps({"actions": ["a"]})))
    tensors = {t.name: np.zeros(t.shape, t.dtype) for t in spec.agents[0].inputs}
    payload = _native.encode("bitstream", spec.json, 0, tensors)
    for length in (0, 1, len(payload) // 2, len(payload) - 1):
        with pytest.raises(_native.NativeError):
            _native.decode("bitstream", spec.json, 0, payload[:length])


def test_import_starts_nothing_and_needs_neither_ray_nor_torch() -> None:
    code = "import sys, mlcb_gym; print([m for m in ('torch', 'ray', 'onnxruntime', 'mlcb_gym._native') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize("task", ["eviction", "priority"])
def test_features_of_the_allocator_are_those_that_llc_declares(task: str) -> None:
    declared = (ROOT / f"native/tasks/{task.capitalize()}Features.inc").read_text()
    printed = subprocess.run([sys.executable, ROOT / "scripts/allocation_features.py", task], capture_output=True, text=True, check=True).stdout
    assert declared == printed


def test_features_of_the_inliner_are_those_of_llvms_header() -> None:
    declared = (ROOT / "native/tasks/InlineFeatures.inc").read_text()
    printed = subprocess.run([sys.executable, ROOT / "scripts/inline_features.py"], capture_output=True, text=True, check=True).stdout
    assert declared == printed
    assert [tensor.name for tensor in bind("inliner", {}).agents[0].inputs[:38]] == re.findall(r"TENSOR\(int64_t, (\w+),", printed)
