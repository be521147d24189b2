# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one flag of deployment: a configuration file that makes clang use policies."""

import json
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from mlcb_gym import _native, toolchain
from mlcb_gym.errors import PolicyError
from mlcb_gym.onnx.manifest import read_manifest


def runner_uri(policy: Path) -> str:
    """Return the URI of a policy's runner: ``onnx:`` of a folder, ``aot:`` of a compiled one."""
    return f"{'aot' if policy.is_file() else 'onnx'}:{policy.resolve()}"


def clang_config(policies: Sequence[Path], *, guard: bool = False) -> str:
    """Return the text of a file for ``clang --config=FILE``.

    Args:
        policies: policy folders, or policies that `mlcb aot` compiled, each for another task.
        guard: keep LLVM's own result where that is better: see ``mlcb clang-config --help``.

    Raises:
        PolicyError: some are no policies, or two are for one task.
    """
    _check(policies)
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


def _check(policies: Sequence[Path]) -> None:
    """Raise a PolicyError that names all that are no policies, or two for one task."""
    decides: dict[str, Path] = {}
    wrong: list[str] = []
    for policy in policies:
        try:
            task = _task(policy)
        except (PolicyError, _native.NativeError) as error:
            wrong.append(str(error))
            continue
        if task in decides:
            wrong.append(f"{policy}: decides about {task}, as {decides[task]} does: expected one policy for each task")
        decides.setdefault(task, policy)
    if wrong:
        raise PolicyError("; ".join(wrong))


def _task(policy: Path) -> str:
    """Return the task of a policy folder or of a compiled policy."""
    if not policy.is_file():
        return str(read_manifest(policy)["task"])
    with closing(_native.Compiler.open(runner_uri(policy))) as compiler:
        return str(json.loads(compiler.spec)["task"])
