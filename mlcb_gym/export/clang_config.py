# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one flag of deployment: a configuration file that makes clang use policies."""

import os
from collections.abc import Sequence
from pathlib import Path

from mlcb_gym import _native, toolchain
from mlcb_gym.onnx.manifest import read_manifest


def runner_uri(policy: Path) -> str:
    """Return the URI of a policy's runner: ``onnx:`` of a folder, ``aot:`` of a compiled one.

    Raises:
        PolicyError: a folder holds no policy.
        NativeError: a file is none.
    """
    if policy.is_file():
        uri = f"aot:{policy.resolve()}"
        _native.Compiler.open(uri).close()
        return uri
    read_manifest(policy)
    return f"onnx:{policy.resolve()}"


def clang_config(policies: Sequence[Path], *, guard: bool = False) -> str:
    """Return the text of a file for ``clang --config=FILE``.

    Args:
        policies: policy folders, or policies that `mlcb aot` compiled, each for another task.
        guard: keep LLVM's own result where that is better: see ``mlcb clang-config --help``.

    Raises:
        PolicyError: a folder holds no policy.
        NativeError: a file is none.
    """
    lines = [f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-vocabulary={toolchain.vocabulary()}"]
    for policy in policies:
        lines += ["-mllvm", f"-mlcb-runner={runner_uri(policy)}"]
    if guard:
        lines += ["-mllvm", "-mlcb-guard"]
    return "\n".join(lines) + "\n"


def write_clang_config(path: Path, policies: Sequence[Path], *, guard: bool = False) -> None:
    """Write the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(clang_config(policies, guard=guard))
    unfinished.replace(path)
