# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model that is asked: one fully connected layer to one float, as NumPy and as a policy folder."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from mlcb_gym.export.export import FORMAT
from mlcb_gym.onnx.manifest import MANIFEST
from mlcb_gym.spec import bind

LENGTHS = range(500, 50_001, 500)
WEIGHTS_SEED = 1_000_000


def weights(length: int) -> np.ndarray:
    return _noise(length, WEIGHTS_SEED)


def answer(length: int) -> float:
    """What the model says of the vector of a length."""
    return float(weights(length).astype(np.float64) @ _noise(length, length))


def _noise(length: int, seed: int) -> np.ndarray:
    """As rtt.cpp makes it."""
    mixed = (np.arange(length, dtype=np.uint64) + seed) * 2654435761 % 2**32
    return ((mixed >> 8 & 0xFFFF) / 65536 - 0.5).astype(np.float32)


def write_policy(folder: Path, length: int) -> None:
    spec = bind("regression", {"length": length})
    folder.mkdir(parents=True)
    layer = numpy_helper.from_array(weights(length).reshape(length, 1), "w")
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w"], ["value"])],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", length])],
        [helper.make_tensor_value_info("value", TensorProto.FLOAT, ["batch", 1])],
        [layer],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, folder / "model.onnx")
    manifest = {
        "format": FORMAT,
        "task": spec.task,
        "parameters": dict(spec.parameters),
        "digest": spec.declared["digest"],
        "agents": {"model": "model.onnx"},
        "spec": dict(spec.declared),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest))
