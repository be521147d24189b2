# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``policy.json``: what a policy folder says of itself."""

import json
from pathlib import Path
from typing import Any

from mlcb_gym.errors import PolicyError

MANIFEST = "policy.json"
OUTPUTS = {"argmax": "logits", "value": "value"}
"""The output of a model, by the kind of its agent's advice."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the policy in ``folder`` is for, and how it came about.

    Raises:
        PolicyError: there is no policy.
    """
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    except (OSError, json.JSONDecodeError) as error:
        raise PolicyError(f"{folder}: no readable {MANIFEST} there, expected a folder that `mlcb export` wrote") from error
    return manifest
