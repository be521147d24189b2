# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies of loop distribution: one made by hand, and what any of them sees in a compiler."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from mlcb_gym.agents.graph import PER_NODE
from mlcb_gym.envs.record import Observation
from mlcb_gym.spec import acting_agent, bind


def write_policy(folder: Path, prefers: int, **parameters: object) -> Path:
    """A policy that places nodes as they come and always distributes as it prefers to."""
    spec = bind("loop_distribution", parameters)
    folder.mkdir()
    for agent, logits in (("selector", np.zeros(64)), ("distributor", np.eye(2)[prefers])):
        graph = helper.make_graph(
            [
                helper.make_node("ReduceSum", ["dependences", "axes"], ["sum"], keepdims=0),
                helper.make_node("Mul", ["sum", "zero"], ["nothing"]),
                helper.make_node("Add", ["nothing", "constant"], ["logits"]),
            ],
            agent,
            [helper.make_tensor_value_info("dependences", TensorProto.FLOAT, ["batch", 8, "nodes", "nodes"])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, len(logits)])],
            [
                onnx.numpy_helper.from_array(np.array([1, 2, 3]), "axes"),
                onnx.numpy_helper.from_array(np.array(0, np.float32), "zero"),
                onnx.numpy_helper.from_array(logits.astype(np.float32)[None], "constant"),
            ],
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / f"{agent}.onnx")
    agents = {agent.name: f"{agent.name}.onnx" for agent in spec.agents}
    manifest = {"format": 1, "task": spec.task, "parameters": spec.parameters, "digest": spec.digest, "agents": agents, "spec": spec.declared}
    (folder / "policy.json").write_text(json.dumps(manifest))
    return folder


def in_true_size(observation: Observation) -> tuple[int, Observation]:
    """As a compiler sends it."""
    agent, seen = acting_agent(observation)
    nodes = int(seen["loop"][3])
    cut = {"dependences": seen["dependences"][:, :nodes, :nodes]}
    cut |= {name: seen[name][:nodes] for name in PER_NODE}
    return agent, {**seen, **cut}
