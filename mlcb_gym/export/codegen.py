# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of an agent as an object file: ONNX to C to machine code, once for each size of inputs that vary in length."""

import inspect
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from mlcb_gym import toolchain
from mlcb_gym.errors import PolicyError, ToolchainError
from mlcb_gym.export.bounds import check_bounds
from mlcb_gym.onnx.manifest import OUTPUTS
from mlcb_gym.onnx.plain import plain

if TYPE_CHECKING:
    from emx_onnx_cgen import Compiler

STACK = 256 * 1024
"""Bytes that a model may keep on the stack of the compiler's thread: its intermediate tensors lie there."""
LARGE = 16 * 1024
"""Bytes from which such a tensor lies on the heap where inputs vary, for those of the largest size do not fit the stack."""
SMALLEST = 2
"""The first size that inputs of varying length are padded to: each is twice the one before, the last the declared maximum."""
SECONDS = 600.0

#: Of a model that stands alone, and of one in many sizes, which at -O3 were five times larger and hardly faster.
ALONE, SIZED = ("-O3",), ("-O2", "-fno-unroll-loops")
#: What lets sums of floats be vectorised and infinities stay infinities.
FLAGS = ("-fno-math-errno", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-ffp-contract=fast")
SHARED = ("-fPIC", "-fvisibility=hidden")
WARNINGS = ("-w", f"-Wframe-larger-than={STACK}", "-Werror=frame-larger-than")

MISSING = "emx-onnx-cgen is missing: pip install mlcb_gym[aot]"
MATH = "#include <AotMath.h>\n"

Tensors = Sequence[Mapping[str, Any]]


def made_with() -> list[str]:
    """Return what the code of a model depends on beside the model: versions of emx-onnx-cgen and clang, and digests of what we do ourselves.

    Raises:
        ToolchainError: one of them is missing.
    """
    try:
        emx = version("emx-onnx-cgen")
    except PackageNotFoundError as error:
        raise ToolchainError(MISSING) from error
    own = [sha256(Path(module).read_bytes()).hexdigest() for module in (__file__, inspect.getfile(check_bounds), inspect.getfile(plain))]
    return [emx, toolchain.version_of(toolchain.tool("clang")), *own]


def agent_object(path: Path, agent: Mapping[str, Any], flags: Sequence[str], source: Path) -> tuple[Path, list[bool]]:
    """Return the model in ``path`` as an object file with one symbol, the stem of ``source``, and whether it reads each of the agent's inputs.

    Args:
        flags: of clang, beside ``FLAGS``.

    Raises:
        PolicyError: it cannot be compiled.
        ToolchainError: clang or emx-onnx-cgen is missing.
    """
    names = {i.name for i in _true_inputs(onnx.load(path).graph)}
    reads = [t["name"] in names for t in agent["inputs"]]
    lengths = sizes(path, [t for t in agent["inputs"] if t["name"] in names])
    written = _of_each_size(path, agent, lengths, reads, source) if lengths else _of_one_size(path, agent, source)
    flags = (*(SIZED if lengths else ALONE), *flags)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(partial(_compiled, path, flags), written))
    clang("-r", "-nostdlib", *objects, "-o", source.with_suffix(".o"))
    # The generator gives weights the same names in every model.
    run_tool(toolchain.tool("llvm-objcopy"), f"--keep-global-symbol={source.stem}", source.with_suffix(".o"))
    return source.with_suffix(".o"), reads


def sizes(path: Path, inputs: Tensors) -> list[int]:
    """The lengths that the model in ``path`` is compiled for; none where nothing varies.

    Raises:
        PolicyError: lengths of several kinds vary.
    """
    maxima = {d["at_most"] for t in inputs for d in t["shape"] if not isinstance(d, int)}
    if len(maxima) > 1:
        raise PolicyError(f"{path}: its inputs vary in lengths of {len(maxima)} kinds, expected one; deploy it with onnx:")
    return [length for most in maxima for length in (*_doubled(most), most)]


def lengthened(tensor: Mapping[str, Any], length: int) -> list[int]:
    """Return the shape of a tensor with this length of its varying axes."""
    return [d if isinstance(d, int) else length for d in tensor["shape"]]


def clang(*arguments: str | Path) -> None:
    """Compile or link for a policy."""
    run_tool(toolchain.tool("clang"), *arguments)


def run_tool(*command: str | Path) -> None:
    """Run a tool; raise `PolicyError` where it fails on a policy, or takes too long."""
    try:
        with toolchain.starting(command[0]):
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise PolicyError(f"{command[0]} took longer than {SECONDS:g} s on the policy; deploy it with onnx:") from error
    if done.returncode != 0:
        line = next((line for line in done.stderr.splitlines() if re.search(r"error", line)), done.stderr.strip())
        raise PolicyError(f"{Path(command[0]).name} failed on the policy: {line}")


def include() -> Path:
    """Return the folder of the headers that the code of a policy needs."""
    return Path(str(files("mlcb_gym").joinpath("include/AotAbi.h"))).parent


def _doubled(most: int) -> list[int]:
    return [SMALLEST << k for k in range(most.bit_length()) if SMALLEST << k < most]


def _of_one_size(path: Path, agent: Mapping[str, Any], source: Path) -> list[Path]:
    model, weights, call = _generated(path, agent, 0, 0)
    source.write_text(
        f"{MATH}{model}{weights}\n"
        f"void {source.stem}(const void *const *inputs, const int64_t *const *shapes, float *output) {{ {call}; }}\n"
    )  # fmt: skip
    return [source]


def _of_each_size(path: Path, agent: Mapping[str, Any], lengths: Sequence[int], reads: Sequence[bool], source: Path) -> list[Path]:
    """Write a file for each size, one of their common weights, and ``source``, which picks a size."""
    beside = source.with_name(f"{source.stem}_weights.c")
    written = [source, beside]
    for length in lengths:
        name = f"{source.stem}_{length}"
        model, weights, call = _generated(path, agent, length, LARGE)
        written.append(source.with_name(f"{name}.c"))
        own = f"{MATH}#define model {name}_model\n#define model_load {name}_load\n"
        written[-1].write_text(f"{own}{model}\nvoid {name}(const void *const *inputs, float *output) {{ {call}; }}\n")
        beside.write_text(weights)
    source.write_text(_picking(source.stem, agent["inputs"], lengths, reads))
    return written


def _picking(name: str, inputs: Tensors, lengths: Sequence[int], reads: Sequence[bool]) -> str:
    """Return the C function that pads an observation to the next size and runs the model of that size."""
    varying = {i: t for i, t in enumerate(inputs) if reads[i] and any(not isinstance(d, int) for d in t["shape"])}
    first, tensor = next(iter(varying.items()))
    axis = next(a for a, d in enumerate(tensor["shape"]) if not isinstance(d, int))
    rows = [f"{{{i}, {np.dtype(t['dtype']).itemsize}, {len(t['shape'])}, {{{', '.join(map(str, lengthened(t, 0)))}}}}}" for i, t in varying.items()]
    return "\n".join(
        [
            "#include <AotVarying.h>",
            *(f"extern void {name}_{length}(const void *const *inputs, float *output);" for length in lengths),
            f"static const struct mlcb_aot_size sizes[] = {{{', '.join(f'{{{length}, {name}_{length}}}' for length in lengths)}}};",
            f"static const struct mlcb_aot_varying varying[] = {{{', '.join(rows)}}};",
            f"void {name}(const void *const *inputs, const int64_t *const *shapes, float *output) {{",
            f"  const void *padded[{len(inputs)}];",
            "  memcpy(padded, inputs, sizeof padded);",
            f"  mlcb_aot_ask(sizes, varying, {len(varying)}, padded, shapes[{first}][{axis}], output);",
            "}\n",
        ]
    )


def _generated(path: Path, agent: Mapping[str, Any], length: int, large: int) -> tuple[str, str, str]:
    """Return the C of a model for one size, its weights, and its call. Intermediate tensors of ``large`` bytes lie on the heap; 0 for none."""
    model = _static(path, agent, length)
    names = [t["name"] for t in agent["inputs"]]
    arguments = [f"inputs[{names.index(i.name)}]" for i in model.graph.input]
    try:
        from emx_onnx_cgen import CodegenError, ShapeInferenceError, UnsupportedOpError
    except ImportError as error:
        raise ToolchainError(MISSING) from error
    try:
        check_bounds(model)
        return (*_generator(large).compile_with_data_file(plain(model)), f"model({', '.join([*arguments, '(void *)output'])})")
    except (CodegenError, ShapeInferenceError, UnsupportedOpError, PolicyError) as error:
        reason = " ".join(str(error).split())
        raise PolicyError(f"{path}: emx-onnx-cgen cannot compile it ({reason}); deploy it with onnx:") from error


@cache
def _generator(large: int) -> "Compiler":
    """Return the generator, which keeps its templates: to make these takes most of its time."""
    from emx_onnx_cgen import Compiler
    from emx_onnx_cgen.compiler import CompilerOptions

    return Compiler(CompilerOptions(model_name="model", large_weight_threshold=0, large_temp_threshold_bytes=large))


def _static(path: Path, agent: Mapping[str, Any], length: int) -> onnx.ModelProto:
    """Return the model for one observation: a batch of 1, and the advice as the only output."""
    model = onnx.load(path)
    graph = model.graph
    wanted = OUTPUTS[agent["advice"]["kind"]]
    keep = next((o for o in graph.output if o.name == wanted), graph.output[0])
    choices = int(agent["advice"].get("choices", 1))
    outputs = [onnx.helper.make_tensor_value_info(keep.name, keep.type.tensor_type.elem_type, [1, choices])]
    shapes = {t["name"]: [1, *lengthened(t, length)] for t in agent["inputs"]}
    inputs = [onnx.helper.make_tensor_value_info(i.name, i.type.tensor_type.elem_type, shapes[i.name]) for i in _true_inputs(graph)]
    for field, values in (("input", inputs), ("output", outputs), ("value_info", [])):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    _transpose_weights(model)
    return model


def _transpose_weights(model: onnx.ModelProto) -> None:
    """Transpose weights that many rows are multiplied by, so that sums over both can be vectorized: MatMul becomes Gemm."""
    graph = model.graph
    weights = {w.name: w for w in graph.initializer}
    known = [*graph.input, *onnx.shape_inference.infer_shapes(model).graph.value_info]
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in known}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        right = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if right is not None and len(right.dims) == 2 and _is_batch_of_one(shapes.get(node.input[0], [])):
            nodes += _gemm(graph, node, onnx.numpy_helper.to_array(right))
        else:
            nodes.append(node)
    replaced = {name for node in graph.node for name in node.input} - {name for node in nodes for name in node.input}
    left_over = [w for w in graph.initializer if w.name not in replaced]
    for field, values in (("node", nodes), ("initializer", left_over)):
        graph.ClearField(field)
        getattr(graph, field).extend(values)


def _is_batch_of_one(shape: Sequence[int]) -> bool:
    return len(shape) == 3 and shape[0] == 1


def _gemm(graph: onnx.GraphProto, node: onnx.NodeProto, weights: np.ndarray) -> list[onnx.NodeProto]:
    """Return the product of one batch of rows with weights."""
    (name,), (inner, outer) = node.output, weights.shape
    constants = {f"{name}_transposed": weights.T.copy(), f"{name}_inner": np.array([-1, inner]), f"{name}_outer": np.array([1, -1, outer])}
    graph.initializer.extend(onnx.numpy_helper.from_array(value, key) for key, value in constants.items())
    transposed, flat, batched = constants
    return [
        onnx.helper.make_node("Reshape", [node.input[0], flat], [f"{name}_rows"]),
        onnx.helper.make_node("Gemm", [f"{name}_rows", transposed], [f"{name}_product"], transB=1),
        onnx.helper.make_node("Reshape", [f"{name}_product", batched], [name]),
    ]


def _true_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Return the inputs that a node reads and that are no weights."""
    weights = {w.name for w in graph.initializer}
    used = {name for node in graph.node for name in node.input} | {o.name for o in graph.output}
    return [i for i in graph.input if i.name in used and i.name not in weights]


def _compiled(path: Path, flags: Sequence[str], source: Path) -> Path:
    compiled = source.with_name(f"{source.stem}.part.o")
    try:
        clang("-c", *SHARED, *FLAGS, *WARNINGS, *flags, f"-I{include()}", source, "-o", compiled)
    except PolicyError as error:
        if "stack frame size" in str(error):
            raise PolicyError(f"{path}: it needs more than {STACK // 1024} KiB of stack for one question; deploy it with onnx:") from error
        raise
    return compiled
