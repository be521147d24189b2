# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder of modules in the layout of MLGO's tools: `corpus_description.json`, and for each module its bitcode and clang's command line."""

import json
from collections.abc import Sequence
from pathlib import Path

from mlcb_gym import atomic
from mlcb_gym.corpus.bitcode import is_bitcode
from mlcb_gym.errors import ProgramError

DESCRIPTION = "corpus_description.json"
BITCODE, COMMAND = ".bc", ".cmd"
"""The suffixes of a module's files. The command line is that of clang's frontend, without input and output, a zero byte after each word."""


def is_described(folder: Path) -> bool:
    """Return whether a folder has a description of its modules."""
    return (folder / DESCRIPTION).is_file()


def described(folder: Path) -> list[tuple[str, Path, str | None]]:
    """Return the modules of a corpus, in its order: their names, their bitcode, and their projects where the description names these.

    Raises:
        ProgramError: the description is none, lists nothing, or names what is not there.
    """
    file = folder / DESCRIPTION
    try:
        description = json.loads(file.read_text())
        names, projects = description["modules"], description.get("projects", {})
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProgramError(f'{file}: expected an object with "modules", got {type(error).__name__}: {error}') from error
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ProgramError(f'{file}: expected the names of modules in "modules"')
    if not isinstance(projects, dict) or not all(isinstance(project, str) for project in projects.values()):
        raise ProgramError(f'{file}: expected an object with the names of projects in "projects"')
    modules = [(name, folder / (name + BITCODE), projects.get(name)) for name in names]
    for _, path, _ in modules:
        if not is_bitcode(path):
            raise ProgramError(f"{path}: named in {DESCRIPTION}, expected LLVM bitcode")
    return modules


def describe(folder: Path, names: Sequence[str]) -> None:
    """Write the description of the modules in ``folder``."""
    text = json.dumps({"has_thinlto": False, "modules": list(names)}, indent=2)
    atomic.write(folder / DESCRIPTION, text + "\n")
