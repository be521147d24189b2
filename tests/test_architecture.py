# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rooms of the native half: each includes only what lies below it, and no task is named outside of its own folder."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

NATIVE = Path(__file__).parent.parent / "native"
TASK_NAMES = [path.stem for path in sorted((NATIVE / "tasks").glob("*.def"))]

LEVELS = [
    {"spec"},
    {"channel", "serdes"},
    {"protocol", "sandbox"},
    {"runner"},
    {"capi", "python", "llvm/process", "llvm/observe", "llvm/measure", "llvm/loops"},
    {"llvm/pipeline"},
    {"llvm/task"},
    {"llvm/deploy"},
    {"llvm/tasks"},
    {"llvm/worker", "llvm"},
]
"""Rooms from the lowest to the highest. One includes itself and lower ones; ``llvm/tasks`` has a room for each task."""


def room(path: str) -> str:
    """The room of a file or a header, by its path within ``native``; ``llvm`` is the plugin."""
    folders = path.split("/")[:-1]
    depth = {"llvm/tasks": 3}.get("/".join(folders[:2]), 2) if folders[:1] == ["llvm"] else 1
    return "/".join(folders[:depth])


def level(name: str) -> int:
    found = [index for index, rooms in enumerate(LEVELS) if name in rooms or name.rpartition("/")[0] in rooms - {"llvm"}]
    assert found, f"native/{name} has no place among the rooms"
    return found[0]


def sources() -> Iterator[tuple[str, str]]:
    """Each C++ file of the native half, by its path within ``native``, and its text."""
    for path in sorted(NATIVE.rglob("*")):
        if path.suffix in {".h", ".cpp"}:
            yield path.relative_to(NATIVE).as_posix(), path.read_text()


def included(text: str) -> list[str]:
    """The headers of this project that a file includes."""
    return [header for header in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE) if (NATIVE / header).exists()]


INCLUDES = [(path, header) for path, text in sources() for header in included(text)]


def test_no_room_includes_a_higher_one() -> None:
    upwards = [f"{path} includes {header}" for path, header in INCLUDES if level(room(header)) > level(room(path))]
    assert upwards == []


def test_no_two_rooms_include_each_other() -> None:
    arrows = {(room(path), room(header)) for path, header in INCLUDES if room(path) != room(header)}
    assert [arrow for arrow in arrows if arrow[::-1] in arrows] == []


def test_no_task_includes_another() -> None:
    across = [(p, h) for p, h in INCLUDES if room(p) != room(h) and room(p).startswith("llvm/tasks/") and room(h).startswith("llvm/tasks/")]
    assert across == []


def test_nobody_includes_the_worker() -> None:
    assert [path for path, header in INCLUDES if room(header) == "llvm/worker" != room(path)] == []


@pytest.mark.parametrize("task", TASK_NAMES)
def test_no_task_is_named_outside_of_its_folder(task: str) -> None:
    named = re.compile(rf'"{task}"|\b{task}::')
    elsewhere = [path for path, text in sources() if not path.startswith("llvm/tasks/") and named.search(text)]
    assert elsewhere == []


def test_what_is_a_sources_own_stands_in_the_namespace_that_uses_it() -> None:
    """The sources of a folder are compiled as one: outside of it, a neighbour's name within the namespace would hide it."""
    outside = []
    for path, text in sources():
        before, begins, _ = text.partition("\nnamespace mlcb")
        if begins and path.endswith(".cpp"):
            outside += [f"{path}: {line}" for line in re.findall(r"^(?:static|const|constexpr|using \w+ =) .*", before, re.MULTILINE)]
    assert outside == []
