# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one flag of deployment: a configuration file that makes clang ask policies."""

import os
from collections.abc import Sequence
from pathlib import Path

from mlcb_gym import toolchain
from mlcb_gym.export.manifest import read_manifest


def clang_config(policies: Sequence[Path], *, guard: bool = False) -> str:
    """The text of a file for ``clang --config=FILE``.

    Args:
        policies: policy folders, each for another task.
        guard: keep the result of -Oz where it is smaller.

    Raises:
        PolicyError: a folder holds no policy.
    """
    lines = [f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-vocabulary={toolchain.vocabulary()}"]
    for policy in policies:
        read_manifest(policy)
        lines += ["-mllvm", f"-mlcb-runner=onnx:{policy.resolve()}"]
    if guard:
        lines += ["-mllvm", "-mlcb-guard"]
    return "\n".join(lines) + "\n"


def write_clang_config(path: Path, policies: Sequence[Path], *, guard: bool = False) -> None:
    """Writes the file whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(clang_config(policies, guard=guard))
    unfinished.replace(path)
