# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ahead-of-time compilation of a policy folder: ONNX to C to one shared object, which a compiler loads without ONNX Runtime."""

import json
import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from importlib.metadata import version
from itertools import cycle, islice, pairwise
from pathlib import Path
from stat import S_ISREG
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from mlcb_gym import _native
from mlcb_gym.atomic import replacing
from mlcb_gym.errors import PolicyError
from mlcb_gym.export.codegen import SHARED, agent_object, clang, include, lengthened, made_with, sizes
from mlcb_gym.export.deployed import runner_uri
from mlcb_gym.onnx.manifest import CODE, MANIFEST, files_of, read_manifest
from mlcb_gym.regular_file import read_regular

COMPILED = "policy.so"
BASELINE = "baseline"
CPUS = (BASELINE, "x86-64-v2", "x86-64-v3", "x86-64-v4")

COMPARED = 64
TOLERANCE = 1e-4
"""Of values, as a fraction of the largest: sums are added up in another order. Choices are the same."""


def default_cpu() -> str:
    """Return x86-64-v3 on x86-64: AVX2 and FMA, which processors of the last ten years have; other machines have one level."""
    return "x86-64-v3" if platform.machine() == "x86_64" else BASELINE


def compile_policy(folder: Path, output: Path, *, cpu: str | None = None) -> Path:
    """Compile the policy in ``folder`` to ``output``, whole or not at all, and compare both on the same observations.

    Args:
        cpu: the processor level, of ``CPUS``; it is checked when the policy is loaded.

    Raises:
        PolicyError: there is no policy, it cannot be compiled, or the result decides otherwise.
        ToolchainError: clang or emx-onnx-cgen is missing.
    """
    manifest, level = read_manifest(folder), cpu or default_cpu()
    if level not in CPUS:
        raise PolicyError(f"--cpu {level}: expected one of {', '.join(CPUS)}")
    if CODE in manifest:
        raise PolicyError(f"{folder}: operators of its own cannot be compiled; deploy it with onnx:")
    with closing(_native.Compiler.open(runner_uri(folder), json.dumps(manifest["spec"]))) as compiler:  # so its models fit its task
        spec = compiler.spec
    agents = json.loads(spec)["agents"]
    with replacing(output) as library:
        with tempfile.TemporaryDirectory() as name:
            contents = _link(folder, manifest, agents, level, Path(name)).read_bytes()
        library.write_bytes(contents + _native.aot_seal(contents, level))
        _compare(folder, library, spec, agents)
    return output


def compiled(folder: Path) -> Path:
    """Return the policy in ``folder`` compiled for this machine's usual level, from the user's cache where it has been compiled before.

    Its name holds a digest of all that it is made of: builds and compiler caches that know the name see another one where anything changes.

    Raises:
        PolicyError, ToolchainError: as ``compile_policy``.
    """
    manifest, level = read_manifest(folder), default_cpu()  # a name of a task is no path
    parts = [*(folder / name for name in files_of(manifest)), *sorted(include().glob("Aot*.h"))]
    try:
        digests = [sha256(read_regular(part)).hexdigest() for part in parts]
    except OSError as error:
        raise PolicyError(f"{error.filename}: {error.strerror}") from error
    digest = sha256("\0".join([version("mlcb_gym"), *made_with(), level, *digests]).encode()).hexdigest()
    cached = user_cache_path("mlcb_gym") / "policies" / f"{manifest['task']}-{digest[:16]}.so"
    return cached if _is_whole(cached, level) else compile_policy(folder, cached, cpu=level)


def _is_whole(library: Path, cpu: str) -> bool:
    """Whether a file is a policy that this user compiled, as it was then."""
    with suppress(OSError):
        contents, found = read_regular(library), library.lstat()
        body = contents[: -len(_native.aot_seal(b"", cpu))]
        return S_ISREG(found.st_mode) and found.st_uid == os.getuid() and contents == body + _native.aot_seal(body, cpu)
    return False


def _link(folder: Path, manifest: Mapping[str, Any], agents: Sequence[Mapping[str, Any]], cpu: str, work: Path) -> Path:
    flags = () if cpu == BASELINE else (f"-march={cpu}",)
    objects = [agent_object(folder / manifest["agents"][agent["name"]], agent, flags, work / f"agent{i}.c") for i, agent in enumerate(agents)]
    (work / "policy.c").write_text(_policy_source(manifest, [reads for _, reads in objects]))
    clang("-shared", *SHARED, "-O1", f"-I{include()}", "-s", work / "policy.c", *(path for path, _ in objects), "-lm", "-o", work / "policy.so")
    return work / "policy.so"


def _policy_source(manifest: Mapping[str, Any], reads: Sequence[Sequence[bool]]) -> str:
    """Return the C of the symbol that a compiler looks up, and of the structures that it points to."""
    text = json.dumps(manifest, separators=(",", ":"))
    agents = range(len(reads))
    return "\n".join(
        [
            "#include <AotAbi.h>",
            *(f"extern void agent{i}(const void *const *inputs, const int64_t *const *shapes, float *output);" for i in agents),
            *(f"static const unsigned char reads{i}[] = {{{', '.join(str(int(r)) for r in reads[i]) or '0'}}};" for i in agents),
            f"static const struct mlcb_aot_agent agents[] = {{{', '.join(f'{{agent{i}, reads{i}}}' for i in agents)}}};",
            f"static const char manifest[] = {_c_string(text)};",
            '__attribute__((visibility("default")))',
            f"const struct mlcb_aot_policy MLCB_AOT_SYMBOL = {{manifest, sizeof manifest - 1, agents, {len(reads)}}};\n",
        ]
    )


def _c_string(text: str) -> str:
    """Return a C literal of the bytes of UTF-8; an octal escape has three digits, so that it ends there."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'


def _compare(folder: Path, library: Path, spec: str, agents: Sequence[Mapping[str, Any]]) -> None:
    """Check that both give the same advice on drawn observations."""
    rng = np.random.default_rng(1)
    with closing(_native.Compiler.open(runner_uri(folder), spec)) as expected, closing(_native.Compiler.open(runner_uri(library), spec)) as compiled:
        for index, agent in enumerate(agents):
            tensors = [t for t in agent["inputs"] if t["dtype"] != "string"]
            lengths = sizes(folder, tensors) or [0]
            drawn = [{t["name"]: _draw(t, length, lengths[-1], rng) for t in tensors} for length in islice(cycle(_around(lengths)), COMPARED)]
            wanted, given = (np.array([runner.observe(index, seen) for seen in drawn]) for runner in (expected, compiled))
            tolerance = 0 if agent["advice"]["kind"] == "argmax" else TOLERANCE * float(np.abs(wanted).max())
            if not np.allclose(given, wanted, rtol=0, atol=tolerance):
                raise PolicyError(f"{folder}/{MANIFEST}: agent '{agent['name']}' gives other advice once it is compiled; deploy it with onnx:")


def _around(lengths: Sequence[int]) -> list[int]:
    """Return each of the sizes, and the shortest length that is padded to it."""
    return [*lengths[:1], *(length for before, size in pairwise(lengths) for length in (size, before + 1))]


def _draw(tensor: Mapping[str, Any], length: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a tensor of any magnitude within its bounds, of this length where it varies; a mask has one bit set at least."""
    shape, low, high = lengthened(tensor, length), float(tensor["low"]), float(tensor["high"])
    if tensor["role"] == "mask":
        there = length if shape == [most] else shape[0]  # a choice for each of what varies
        mask = np.zeros(shape, tensor["dtype"])
        mask[:there] = rng.integers(0, 2, there)
        mask[rng.integers(there)] = 1
        return mask
    drawn = rng.choice((-1.0, 1.0), shape) * 10 ** rng.uniform(-3, np.log10(max(high, 10.0)), shape)
    return np.clip(drawn, low, high).astype(tensor["dtype"])
