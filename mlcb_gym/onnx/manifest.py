# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``policy.json``: the manifest of a policy folder."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from mlcb_gym.errors import PolicyError
from mlcb_gym.regular_file import read_regular

MANIFEST = "policy.json"
OUTPUTS = {"argmax": "logits", "value": "value"}
"""The output of a model, by the kind of its agent's advice."""
MEMBERS = {"task": str, "digest": str, "parameters": dict, "spec": dict, "agents": dict}
"""The members that every manifest has, and their types."""
CODE = "custom_operators"
"""The member that names a library of a policy's own operators."""
NAME = re.compile(r"\w[\w.-]*", re.ASCII)
"""The name of a task or an agent: files are called after it."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a policy folder: its task, and how it was trained.

    Raises:
        PolicyError: there is no policy, its manifest lacks one of ``MEMBERS``, or what it names is no file of the folder itself.
    """
    try:
        manifest = json.loads(read_regular(folder / MANIFEST))
    except (OSError, ValueError, RecursionError) as error:
        raise PolicyError(f"{folder}: no readable {MANIFEST} there, expected a folder that `mlcb export` wrote") from error
    if not isinstance(manifest, dict):
        raise PolicyError(f"{folder / MANIFEST} is no JSON object, expected a manifest that `mlcb export` wrote")
    if wrong := [f"'{name}'" for name, kind in MEMBERS.items() if not isinstance(manifest.get(name), kind)]:
        raise PolicyError(f"{folder / MANIFEST}: {', '.join(wrong)} missing or of another type, expected a manifest that `mlcb export` wrote")
    if not NAME.fullmatch(manifest["task"]):
        raise PolicyError(f"{folder / MANIFEST}: task {manifest['task']!r:.80}, expected letters, digits, '_', '-' and '.'")
    for agent, file in manifest["agents"].items():
        if not _is_file_name(file):
            raise PolicyError(f"{folder / MANIFEST}: agent {agent!r:.80} has its model in {file!r:.80}, expected the name of a file of this folder")
    if CODE in manifest and not _is_file_name(manifest[CODE]):
        raise PolicyError(f"{folder / MANIFEST}: {CODE} is {manifest[CODE]!r:.80}, expected the name of a file of this folder")
    return manifest


def files_of(manifest: Mapping[str, Any]) -> list[str]:
    """Return the files of a policy's folder that deciding needs: the manifest, the models, and operators of its own."""
    return [MANIFEST, *manifest["agents"].values(), *([manifest[CODE]] if CODE in manifest else [])]


def replaceable(folder: Path) -> Path:
    """Return the folder of a policy, behind links; it is empty, holds a policy, or is to be made.

    Raises:
        PolicyError: it holds something else.
    """
    folder = folder.resolve()
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise PolicyError(f"{folder}: holds other things than a policy, expected an empty folder or one to replace")
    return folder


def _is_file_name(file: object) -> bool:
    try:
        return isinstance(file, str) and b"\0" not in os.fsencode(file) and file not in ("", "..") and PurePath(file).name == file
    except UnicodeEncodeError:
        return False
