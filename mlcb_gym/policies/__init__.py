# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The trained policies that ship, one folder each, with their cards."""

from importlib.resources import files
from pathlib import Path

from mlcb_gym.errors import PolicyError


def shipped() -> dict[str, Path]:
    """The folder of every policy that ships, by name."""
    folders = (path.parent for path in _root().rglob("policy.json"))
    return {folder.name: folder for folder in sorted(folders, key=lambda folder: folder.name)}


def experimental() -> dict[str, Path]:
    """The folders of those policies that ship and do not beat the best baseline that learns nothing, by name: those below ``experimental``."""
    return {name: folder for name, folder in shipped().items() if folder.parent != _root()}


def card(name: str) -> str:
    """Return the path of the card of a policy that ships, from the root of this project's tree."""
    return f"mlcb_gym/policies/{shipped()[name].relative_to(_root()).as_posix()}/README.md"


def policy_path(text: str) -> Path:
    """Return the path of a policy that is named as a user names it: by its path, or, of one that ships, by its task.

    A path comes first, unless it is a folder without a policy and a policy of that name ships.

    Raises:
        PolicyError: there is neither.
    """
    path, ships = Path(text), shipped()
    name = text.replace("-", "_")
    if name in ships and not path.is_file() and not (path / "policy.json").exists():
        return ships[name]
    if not path.exists():
        raise PolicyError(f"{text}: no such policy, expected a folder that `mlcb export` wrote, or one that ships: {', '.join(ships)}")
    return path


def _root() -> Path:
    return Path(str(files(__name__)))
