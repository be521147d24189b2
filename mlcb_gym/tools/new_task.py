# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The four files of a new task: a declaration, a pass, an environment, and the line that registers it."""

import re
from collections.abc import Mapping
from importlib.resources import files
from keyword import iskeyword
from pathlib import Path
from string import Template

from mlcb_gym import atomic
from mlcb_gym.errors import TaskError

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t char16_t char32_t co_await co_return co_yield compl concept "
        "const const_cast consteval constexpr constinit decltype default delete do double dynamic_cast enum explicit export extern float friend "
        "goto inline int long mutable namespace new noexcept not_eq nullptr operator or_eq private protected public register reinterpret_cast "
        "requires short signed sizeof static static_assert static_cast struct switch template this thread_local throw typedef typeid typename union "
        "unsigned using virtual void volatile wchar_t xor xor_eq",
    )
)
"""Those of C++20 that are none of Python."""
REGISTRATION = Path("mlcb_gym/__init__.py")
"""Holds a line for each task of this package."""


def write_task(name: str, folder: Path | None = None) -> list[Path]:
    """Write the files of a minimal task, which builds, trains and deploys as it is; return their paths.

    Args:
        name: as ``size_attributes``; the environment is ``SizeAttributes-v0``.
        folder: a package of its own, for the build option ``MLCB_EXTRA_TASKS``; by default the task becomes part of this checkout.

    Raises:
        TaskError: the name is no identifier, a file is there already, or this is no checkout.
    """
    if not NAME.fullmatch(name):
        raise TaskError(f"{name!r}: expected a name in lower case, as size_attributes")
    if iskeyword(name) or name in KEYWORDS:
        raise TaskError(f"{name!r}: a keyword of C++ or Python, expected another name")
    title = "".join(word.capitalize() for word in name.split("_"))
    places = _in_checkout(name) if folder is None else _in_package(name, title, folder)
    module = ".".join((places["env.py"].parent / name).parts)
    registration = f'register("{title}-v0", "{module}:{title}")\n'
    if taken := [path for path in places.values() if path.exists()]:
        raise TaskError(f"{taken[0]}: exists already, expected another name")
    for template, path in places.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            Template(_text(template)).substitute(name=name, title=title, package=module.split(".")[0] if folder is None else ".".join(folder.parts))
        )
    return [*places.values(), _register(registration, folder)]


def _in_checkout(name: str) -> Mapping[str, Path]:
    if not (Path("native/tasks").is_dir() and REGISTRATION.exists()):
        raise TaskError(f"{Path.cwd()}: no checkout of mlcb_gym, expected one, or --output FOLDER for a package of its own")
    return {
        "task.def": Path(f"native/tasks/{name}.def"),
        "task.cpp": Path(f"native/llvm/tasks/{name}/Episode.cpp"),
        "env.py": Path(f"mlcb_gym/envs/{name}.py"),
    }


def _in_package(name: str, title: str, folder: Path) -> Mapping[str, Path]:
    if folder.is_absolute() or ".." in folder.parts:
        raise TaskError(f"{folder}: expected a folder below this one, which Python imports as a package")
    return {"task.def": folder / f"{name}.def", "task.cpp": folder / f"{title}.cpp", "env.py": folder / f"{name}.py"}


def _register(line: str, folder: Path | None) -> Path:
    """Append the line to this package's list, or write a package that holds it."""
    if folder is None:
        atomic.write(REGISTRATION, REGISTRATION.read_text() + line)
        return REGISTRATION
    path = folder / "__init__.py"
    head = '# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"""A task of one\'s own."""\n\nimport mlcb_gym\n\n'
    atomic.write(path, (path.read_text() if path.exists() else head) + f"mlcb_gym.{line}")
    return path


def _text(template: str) -> str:
    return files("mlcb_gym").joinpath(f"data/new_task/{template}.in").read_text()
