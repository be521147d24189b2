# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policy folders made without training: of one node, and with an operator of their own."""

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from mlcb_gym import _native, toolchain
from mlcb_gym.spec import bind

HEADERS = Path(os.environ.get("ONNXRUNTIME_ROOT", Path(__file__).parents[2] / ".deps/onnxruntime")) / "include"

#: The operator mlcb::Twice.
OPERATORS = """
#include <onnxruntime_c_api.h>
static const OrtApi *Api;
static void *createKernel(const OrtCustomOp *Op, const OrtApi *A, const OrtKernelInfo *Info) { return (void *)Op; }
static void destroyKernel(void *Kernel) {}
static void compute(void *Kernel, OrtKernelContext *Context) {
  const OrtValue *In;
  OrtValue *Out;
  float *From, *To;
  const int64_t Shape[] = {1, 1};
  Api->KernelContext_GetInput(Context, 0, &In);
  Api->KernelContext_GetOutput(Context, 0, Shape, 2, &Out);
  Api->GetTensorMutableData((OrtValue *)In, (void **)&From);
  Api->GetTensorMutableData(Out, (void **)&To);
  *To = 2 * *From;
}
static const char *name(const OrtCustomOp *Op) { return "Twice"; }
static const char *provider(const OrtCustomOp *Op) { return 0; }
static size_t one(const OrtCustomOp *Op) { return 1; }
static ONNXTensorElementDataType type(const OrtCustomOp *Op, size_t Index) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
static OrtCustomOpInputOutputCharacteristic in(const OrtCustomOp *Op, size_t Index) { return INPUT_OUTPUT_REQUIRED; }
static const OrtCustomOp Twice = {.version = 8, .CreateKernel = createKernel, .GetName = name, .GetExecutionProviderType = provider,
                                  .GetInputType = type, .GetInputTypeCount = one, .GetOutputType = type, .GetOutputTypeCount = one,
                                  .KernelCompute = compute, .KernelDestroy = destroyKernel, .GetInputCharacteristic = in,
                                  .GetOutputCharacteristic = in};
OrtStatus *RegisterCustomOps(OrtSessionOptions *Options, const OrtApiBase *Base) {
  OrtCustomOpDomain *Domain;
  Api = Base->GetApi(16);
  OrtStatus *Status = Api->CreateCustomOpDomain("mlcb", &Domain);
  if (!Status)
    Status = Api->CustomOpDomain_Add(Domain, &Twice);
  return Status ? Status : Api->AddCustomOpDomain(Options, Domain);
}
"""


def write_by_hand(folder: Path, shape: list[object], operator: str) -> Path:
    """A policy of one operator, from a float tensor ``x`` to a value; its task lies beside it in ``task.json``."""
    task = {
        "task": "estimate",
        "agents": [
            {
                "name": "judge",
                "inputs": [{"name": "x", "dtype": "float32", "shape": shape}],
                "advice": {"kind": "value", "name": "cycles"},
            }
        ],
    }
    with closing(_native.Compiler.open("default:", json.dumps(task))) as compiler:
        spec = json.loads(compiler.spec)
    domain = "mlcb" if operator == "Twice" else ""
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["value"], domain=domain)],
        "model",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *(d if isinstance(d, int) else "n" for d in shape)])],
        [helper.make_tensor_value_info("value", TensorProto.FLOAT, [1, 1])],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mlcb", 1)]
    folder.mkdir()
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), folder / "judge.onnx")
    manifest = {"format": 1, "task": "estimate", "parameters": {}, "digest": spec["digest"], "agents": {"judge": "judge.onnx"}, "spec": spec}
    (folder / "policy.json").write_text(json.dumps(manifest))
    (folder / "task.json").write_text(json.dumps(task))
    return folder


def custom_operators(folder: Path) -> Path:
    """Gives a policy the library that has its operator."""
    (folder / "operators.c").write_text(OPERATORS)
    command: list[str | Path] = [toolchain.tool("clang"), "-shared", "-fPIC", f"-I{HEADERS}", folder / "operators.c", "-o", folder / "operators.so"]
    subprocess.run(command, check=True)
    manifest = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(manifest | {"custom_operators": "operators.so"}))
    return folder


def forge(policy: Path, **changed: object) -> Path:
    """Changes parameters of a policy after it was exported."""
    manifest = json.loads((policy / "policy.json").read_text())
    bound = bind(manifest["task"], manifest["parameters"] | changed)
    (policy / "policy.json").write_text(json.dumps(manifest | {"parameters": dict(bound.parameters), "digest": bound.digest}))
    return policy
