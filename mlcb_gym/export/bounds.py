# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The check that the code of a model, which tests no index, stays within its memory, whatever it is asked."""

from collections.abc import Iterator, Sequence

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, ValueInfoProto, helper

from mlcb_gym.errors import PolicyError
from mlcb_gym.rollout.onnx_policy import REFUSALS

_VALUES = """
Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh BatchNormalization Cast Ceil Celu Clip Concat Constant Cos Cosh Div Elu Equal Erf Exp
Flatten Floor Gelu Gemm Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log
LogSoftmax MatMul Max Mean Min Mish Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Shape Sigmoid Sign Sin Sinh Size Softmax Softplus Softsign
Sqrt Sub Sum Tan Tanh ThresholdedRelu Transpose Where Xor
"""
VALUES = frozenset(_VALUES.split())
"""Operators of whose operands none is an index or a size."""
INDICES = {"Gather": {1}, "GatherElements": {1}, "ScatterElements": {1}}
ADDRESSES = INDICES | {
    "ConstantOfShape": {0},
    "CumSum": {1},
    "Expand": {1},
    "Pad": {1, 3},
    "Range": {0, 1, 2},
    "ReduceMax": {1},
    "ReduceMean": {1},
    "ReduceMin": {1},
    "ReduceProd": {1},
    "ReduceSum": {1},
    "Reshape": {1},
    "Slice": {1, 2, 3, 4},
    "Split": {1},
    "Squeeze": {1},
    "Tile": {1},
    "TopK": {1},
    "Unsqueeze": {1},
}
"""The operands of other operators that are indices or sizes."""
OF_SHAPES = ("Shape", "Size")
"""Operators whose results are constant, for the model has one size."""


def check_bounds(model: ModelProto) -> None:
    """Check that the indices and sizes in a model of one size are constant, and that the indices are in bounds.

    Raises:
        PolicyError: they are not, or not known to be.
    """
    computed = _computed(model)
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx") or node.op_type not in VALUES | ADDRESSES.keys():
            raise PolicyError(f"not known to stay within its memory: operator {node.op_type}")
        if any(name in computed for name in _addresses(node)):
            raise PolicyError(f"it computes an index or a size of {node.op_type}, expected a constant")
    if indexed := [node.output[0] for node in model.graph.node if node.op_type in INDICES]:
        _run(model, indexed)


def _computed(model: ModelProto) -> set[str]:
    """The tensors that depend on inputs, in whatever order the nodes are."""
    computed, before = {value.name for value in model.graph.input}, 0
    while before < len(computed):
        before = len(computed)
        computed.update(
            name for node in model.graph.node if node.op_type not in OF_SHAPES and not computed.isdisjoint(node.input) for name in node.output
        )
    return computed


def _addresses(node: NodeProto) -> Iterator[str]:
    return (name for place, name in enumerate(node.input) if place in ADDRESSES.get(node.op_type, ()))


def _run(model: ModelProto, wanted: Sequence[str]) -> None:
    """Compute some tensors once; ONNX Runtime tests their indices."""
    whole = ModelProto()
    whole.CopyFrom(model)
    del whole.graph.output[:]
    whole.graph.output.extend(ValueInfoProto(name=name) for name in wanted)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what fails is told by an exception
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"])
        session.run(None, {value.name: _zeros(value) for value in model.graph.input})
    except REFUSALS as error:
        raise PolicyError(str(error).partition("\n")[0]) from error


def _zeros(value: ValueInfoProto) -> np.ndarray:
    kind = value.type.tensor_type
    return np.zeros([d.dim_value for d in kind.shape.dim], helper.tensor_dtype_to_np_dtype(kind.elem_type))
