# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python make_model.py cost.onnx` writes a model that no reinforcement learning made: cycles of a block, linear in its instructions."""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

CYCLES = np.array([[1.0], [4.0], [0.5], [2.0]], np.float32)  # of an addition, a load, a move, a branch: fitted by whatever you like


def model() -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("counts", onnx.TensorProto.FLOAT, [1, len(CYCLES)])]
    outputs = [helper.make_tensor_value_info("cycles", onnx.TensorProto.FLOAT, [1, 1])]
    layer = helper.make_node("MatMul", ["counts", "weights"], ["cycles"])
    graph = helper.make_graph([layer], "cost", inputs, outputs, [numpy_helper.from_array(CYCLES, "weights")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


if __name__ == "__main__":
    onnx.save(model(), sys.argv[1])
