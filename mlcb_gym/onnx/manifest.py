# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``policy.json``: the manifest of a policy folder."""

import json
from pathlib import Path
from typing import Any

from mlcb_gym.errors import PolicyError

MANIFEST = "policy.json"
OUTPUTS = {"argmax": "logits", "value": "value"}
"""The output of a model, by the kind of its agent's advice."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a policy folder: its task, and how it was trained.

    Raises:
        PolicyError: there is no policy.
    """
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise PolicyError(f"{folder}: no readable {MANIFEST} there, expected a folder that `mlcb export` wrote") from error
    return manifest
