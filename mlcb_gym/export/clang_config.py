# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one flag of deployment: a configuration file that makes clang use policies."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from mlcb_gym import _native, toolchain
from mlcb_gym.envs import env_class, environments
from mlcb_gym.errors import PolicyError
from mlcb_gym.onnx.manifest import read_manifest


def runner_uri(policy: Path) -> str:
    """Return the URI of a policy's runner: ``onnx:`` of a folder, ``aot:`` of a compiled one."""
    return f"{'aot' if policy.is_file() else 'onnx'}:{policy.resolve()}"


def clang_config(policies: Sequence[Path], *, guard: bool = False, uri: Callable[[Path], str] = runner_uri) -> str:
    """Return the text of a file for ``clang --config=FILE``.

    Args:
        policies: policy folders, or policies that `mlcb aot` compiled, each for another task.
        guard: keep LLVM's own result where that is better: see ``mlcb clang-config --help``.
        uri: from a policy, once all have been checked, to the URI of its runner.

    Raises:
        PolicyError: some are no policies, two are for one task, or the guard cannot compare what one decides.
    """
    _check(policies, guard=guard)
    options = [f"-mlcb-vocabulary={toolchain.vocabulary()}", *(f"-mlcb-runner={uri(policy)}" for policy in policies)]
    options += ["-mlcb-guard"] * guard
    # Clang hands -mllvm itself to its assembler too, which loads no plugin.
    return "\n".join([f"-fpass-plugin={toolchain.plugin()}", *(f"-Xclang\n-mllvm\n-Xclang\n{option}" for option in options), ""])


def write_clang_config(path: Path, policies: Sequence[Path], *, guard: bool = False, uri: Callable[[Path], str] = runner_uri) -> None:
    """Write the file whole or not at all."""
    text = clang_config(policies, guard=guard, uri=uri)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(text)
    unfinished.replace(path)


def _check(policies: Sequence[Path], *, guard: bool) -> None:
    """Raise a PolicyError that names all that are no policies, two for one task, or not for the guard."""
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
        elif guard and task in environments() and not env_class(task).record.guardable:
            wrong.append(f"{policy}: the guard has no measure of {task}: expected --no-guard, or no policy for it")
        decides.setdefault(task, policy)
    if wrong:
        raise PolicyError("; ".join(wrong))


def _task(policy: Path) -> str:
    """Return the task of a policy folder or of a compiled policy."""
    if not policy.is_file():
        return str(read_manifest(policy)["task"])
    with closing(_native.Compiler.open(runner_uri(policy))) as compiler:
        return str(json.loads(compiler.spec)["task"])
