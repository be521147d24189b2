# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``policy.json``: the manifest of a policy folder."""

import json
from pathlib import Path
from typing import Any

from mlcb_gym.errors import PolicyError

MANIFEST = "policy.json"
OUTPUTS = {"argmax": "logits", "value": "value"}
"""The output of a model, by the kind of its agent's advice."""
MEMBERS = {"task": str, "digest": str, "agents": dict}
"""The members that every manifest has, and their types."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a policy folder: its task, and how it was trained.

    Raises:
        PolicyError: there is no policy, or its manifest lacks one of ``MEMBERS``.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise PolicyError(f"{folder}: no readable {MANIFEST} there, expected a folder that `mlcb export` wrote") from error
    if not isinstance(manifest, dict):
        raise PolicyError(f"{folder / MANIFEST} is no JSON object, expected a manifest that `mlcb export` wrote")
    if wrong := [f"'{name}'" for name, kind in MEMBERS.items() if not isinstance(manifest.get(name), kind)]:
        raise PolicyError(f"{folder / MANIFEST}: {', '.join(wrong)} missing or of another type, expected a manifest that `mlcb export` wrote")
    return manifest
