# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The trained policies that ship, one folder each, with their cards."""

from importlib.resources import files
from pathlib import Path


def shipped() -> dict[str, Path]:
    """The folder of every policy that ships, by name."""
    root = Path(str(files(__name__)))
    return {path.parent.name: path.parent for path in sorted(root.glob("*/policy.json"))}
