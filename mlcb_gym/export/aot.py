# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a policy folder ahead of time: ONNX to C to one shared object, which a compiler loads instead of ONNX Runtime."""

import json
import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from mlcb_gym import _native, toolchain
from mlcb_gym.errors import PolicyError, ToolchainError
from mlcb_gym.export.manifest import MANIFEST, OUTPUTS, read_manifest

COMPILED = "policy.so"
BASELINE = "baseline"
CPUS = (BASELINE, "x86-64-v2", "x86-64-v3", "x86-64-v4")
STACK = 256 * 1024
"""Bytes that a model may keep on the stack of the compiler's thread: its intermediate tensors lie there."""

SECONDS = 600.0
COMPARED = 64
TOLERANCE = 1e-4
"""Of values, as a fraction of the largest: sums are added up in another order. Choices are the same."""

#: What lets sums of floats be vectorised and infinities stay infinities.
FLAGS = ("-O3", "-fno-math-errno", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-ffp-contract=fast")
SHARED = ("-fPIC", "-fvisibility=hidden")
WARNINGS = ("-w", f"-Wframe-larger-than={STACK}", "-Werror=frame-larger-than")


def default_cpu() -> str:
    """AVX2 and FMA, which all x86-64 of the last ten years have; other machines have one level."""
    return "x86-64-v3" if platform.machine() == "x86_64" else BASELINE


def compile_policy(folder: Path, output: Path, *, cpu: str | None = None) -> Path:
    """Compiles the policy in ``folder`` to ``output``, whole or not at all, and asks both the same questions.

    Args:
        cpu: what it may run on, of ``CPUS``; it is checked when the policy is loaded.

    Raises:
        PolicyError: there is no policy, it cannot be compiled, or the result decides otherwise.
        ToolchainError: clang or emx-onnx-cgen is missing.
    """
    manifest, level = read_manifest(folder), cpu or default_cpu()
    if level not in CPUS:
        raise PolicyError(f"--cpu {level}: expected one of {', '.join(CPUS)}")
    with closing(_native.Compiler.open(f"onnx:{folder}", json.dumps(manifest["spec"]))) as compiler:  # so its models fit its task
        spec = compiler.spec
    agents = json.loads(spec)["agents"]
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as name:
        library = _link(folder, manifest, agents, level, Path(name))
        contents = library.read_bytes()
        library.write_bytes(contents + _native.aot_seal(contents, level))
        _compare(folder, library, spec, agents)
        os.replace(library, output)
    return output


def _link(folder: Path, manifest: Mapping[str, Any], agents: Sequence[Mapping[str, Any]], cpu: str, work: Path) -> Path:
    flags = [*FLAGS, *WARNINGS, *(() if cpu == BASELINE else (f"-march={cpu}",))]
    objects = [_object(folder / manifest["agents"][agent["name"]], agent, flags, work / f"agent{i}.c") for i, agent in enumerate(agents)]
    (work / "policy.c").write_text(_policy_source(manifest, [reads for _, reads in objects]))
    _clang("-shared", *SHARED, "-O1", f"-I{_include()}", "-s", work / "policy.c", *(path for path, _ in objects), "-lm", "-o", work / "policy.so")
    return work / "policy.so"


def _object(path: Path, agent: Mapping[str, Any], flags: Sequence[str], source: Path) -> tuple[Path, list[bool]]:
    """The model of an agent as an object file of one symbol, named as ``source`` is, and which of its inputs the model reads."""
    model = _static(path, agent)
    onnx.save(model, source.with_suffix(".onnx"))
    _generate(path, source.with_suffix(".onnx"), source.with_suffix(".inc"))
    names = [t["name"] for t in agent["inputs"]]
    arguments = [f"inputs[{names.index(i.name)}]" for i in model.graph.input]
    source.write_text(
        f'#include "{source.stem}.inc"\n'
        f"void {source.stem}(const void *const *inputs, float *output) {{ model({', '.join([*arguments, '(void *)output'])}); }}\n"
    )
    compiled = source.with_suffix(".o")
    try:
        _clang("-c", *SHARED, *flags, source, "-o", compiled)
    except PolicyError as error:
        if "stack frame size" in str(error):
            raise PolicyError(f"{path}: it needs more than {STACK // 1024} KiB of stack for one question; deploy it with onnx:") from error
        raise
    # The generator gives weights the same names in every model.
    _run(toolchain.tool("llvm-objcopy"), f"--keep-global-symbol={source.stem}", compiled)
    read = {i.name for i in model.graph.input}
    return compiled, [name in read for name in names]


def _static(path: Path, agent: Mapping[str, Any]) -> onnx.ModelProto:
    """The model for one question: the batch is 1, and of the outputs only the one that is asked for is left."""
    varying = [t["name"] for t in agent["inputs"] if t["dtype"] != "string" and any(not isinstance(d, int) for d in t["shape"])]
    if varying:
        raise PolicyError(f"{path}: input '{varying[0]}' varies in length, which compiled code is slow at; deploy it with onnx:")
    model = onnx.load(path)
    graph = model.graph
    wanted = OUTPUTS[agent["advice"]["kind"]]
    keep = next((o for o in graph.output if o.name == wanted), graph.output[0])
    outputs = [onnx.helper.make_tensor_value_info(keep.name, keep.type.tensor_type.elem_type, [1, _outputs(agent)])]
    shapes = {t["name"]: t["shape"] for t in agent["inputs"]}
    inputs = [onnx.helper.make_tensor_value_info(i.name, i.type.tensor_type.elem_type, [1, *shapes[i.name]]) for i in _true_inputs(graph)]
    for field, values in (("input", inputs), ("output", outputs), ("value_info", [])):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    return model


def _true_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    """Those that a node reads and that are no weights."""
    weights = {w.name for w in graph.initializer}
    used = {name for node in graph.node for name in node.input} | {o.name for o in graph.output}
    return [i for i in graph.input if i.name in used and i.name not in weights]


def _outputs(agent: Mapping[str, Any]) -> int:
    return int(agent["advice"].get("choices", 1))


def _generate(path: Path, model: Path, source: Path) -> None:
    """C of a model, with its weights in it and nothing on the heap."""
    try:
        from emx_onnx_cgen import CodegenError, Compiler, ShapeInferenceError, UnsupportedOpError
        from emx_onnx_cgen.compiler import CompilerOptions
    except ImportError as error:
        raise ToolchainError("emx-onnx-cgen is missing: pip install mlcb_gym[aot]") from error
    options = CompilerOptions(model_name="model", large_weight_threshold=0, large_temp_threshold_bytes=0)
    try:
        source.write_text(Compiler(options).compile(onnx.load(model)))
    except (CodegenError, ShapeInferenceError, UnsupportedOpError) as error:
        reason = " ".join(str(error).split())
        raise PolicyError(f"{path}: emx-onnx-cgen cannot compile it ({reason}); deploy it with onnx:") from error


def _policy_source(manifest: Mapping[str, Any], reads: Sequence[Sequence[bool]]) -> str:
    """The symbol that a compiler looks for, and what it names."""
    text = json.dumps(manifest, separators=(",", ":"))
    agents = range(len(reads))
    return "\n".join(
        [
            "#include <AotAbi.h>",
            *(f"extern void agent{i}(const void *const *inputs, float *output);" for i in agents),
            *(f"static const unsigned char reads{i}[] = {{{', '.join(str(int(r)) for r in reads[i]) or '0'}}};" for i in agents),
            f"static const struct mlcb_aot_agent agents[] = {{{', '.join(f'{{agent{i}, reads{i}}}' for i in agents)}}};",
            f"static const char manifest[] = {_c_string(text)};",
            '__attribute__((visibility("default")))',
            f"const struct mlcb_aot_policy MLCB_AOT_SYMBOL = {{manifest, sizeof manifest - 1, agents, {len(reads)}}};\n",
        ]
    )


def _c_string(text: str) -> str:
    """A C literal of the bytes of UTF-8; one of octal digits cannot run on into what follows it."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'


def _include() -> Path:
    return Path(str(files("mlcb_gym").joinpath("include/AotAbi.h"))).parent


def _clang(*arguments: str | Path) -> None:
    _run(toolchain.tool("clang"), *arguments)


def _run(*command: str | Path) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise PolicyError(f"{command[0]} took longer than {SECONDS:g} s on the policy; deploy it with onnx:") from error
    if done.returncode != 0:
        line = next((line for line in done.stderr.splitlines() if re.search(r"error", line)), done.stderr.strip())
        raise PolicyError(f"{Path(command[0]).name} failed on the policy: {line}")


def _compare(folder: Path, library: Path, spec: str, agents: Sequence[Mapping[str, Any]]) -> None:
    """Both must give the same advice on drawn observations."""
    rng = np.random.default_rng(1)
    with closing(_native.Compiler.open(f"onnx:{folder}", spec)) as expected, closing(_native.Compiler.open(f"aot:{library}", spec)) as compiled:
        for index, agent in enumerate(agents):
            drawn = [{t["name"]: _draw(t, rng) for t in agent["inputs"] if t["dtype"] != "string"} for _ in range(COMPARED)]
            wanted, given = (np.array([runner.observe(index, tensors) for tensors in drawn]) for runner in (expected, compiled))
            tolerance = 0 if agent["advice"]["kind"] == "argmax" else TOLERANCE * float(np.abs(wanted).max())
            if not np.allclose(given, wanted, rtol=0, atol=tolerance):
                raise PolicyError(f"{folder}/{MANIFEST}: agent '{agent['name']}' gives other advice once it is compiled; deploy it with onnx:")


def _draw(tensor: Mapping[str, Any], rng: np.random.Generator) -> np.ndarray:
    """Of any magnitude within the bounds; masks with one bit set at least."""
    shape, low, high = tensor["shape"], float(tensor["low"]), float(tensor["high"])
    if tensor["role"] == "mask":
        mask = rng.integers(0, 2, shape)
        mask[rng.integers(shape[0])] = 1
        return mask.astype(tensor["dtype"])
    drawn = rng.choice((-1.0, 1.0), shape) * 10 ** rng.uniform(-3, 4, shape)
    return np.clip(drawn, low, high).astype(tensor["dtype"])
