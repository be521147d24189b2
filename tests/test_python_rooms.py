# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rooms of the Python half: a module imports from rooms below its own, none in a circle, and tools name no task."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from mlcb_gym.envs import environments

PACKAGE = Path(__file__).parent.parent / "mlcb_gym"
LEVELS = (
    {"atomic", "errors", "limits", "pipelines", "progress_bar", "regular_file"},
    {"damaged", "json_lines", "picture"},
    {"_native"},
    {"toolchain"},
    {"spec"},
    {"session"},
    {"corpus", "data", "policies"},
    {"envs"},
    {"onnx", "agents"},
    {"rollout"},
    {"search"},
    {"training"},
    {"export"},
    {"evaluation"},
    {"reporting"},
    {"demo", "tools", "testing"},
    {"cli"},
    {"__init__", "__main__"},
)
"""From the lowest to the highest; rooms of one level do not know each other."""
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
WITHOUT_TASKS = ("agents", "cli", "corpus", "evaluation", "export", "onnx", "reporting", "rollout", "search", "session", "tools", "training")
MODULES = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}


def imports(module: str) -> Iterator[str]:
    """The modules of the package that one imports: at its top, in its functions, and for types alone."""
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("mlcb_gym.") for alias in node.names if alias.name.startswith("mlcb_gym."))
        elif isinstance(node, ast.ImportFrom) and node.module == "mlcb_gym":
            yield from (alias.name for alias in node.names if alias.name[0] != "_" or alias.name == "_native")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("mlcb_gym."):
            name = node.module.removeprefix("mlcb_gym.")
            yield from (inner if (inner := f"{name}.{alias.name}") in MODULES else name for alias in node.names)


def room(module: str) -> str:
    return module.split(".")[0]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_module_imports_from_rooms_below_its_own(module: str) -> None:
    wrong = [other for other in imports(module) if room(other) != room(module) and LEVEL[room(other)] >= LEVEL[room(module)]]
    assert not wrong


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    sorter = TopologicalSorter({module: {name if name in MODULES else f"{name}.__init__" for name in imports(module)} for module in MODULES})
    assert list(sorter.static_order())


@pytest.mark.parametrize("name", WITHOUT_TASKS)
def test_room_names_no_task(name: str) -> None:
    texts = {
        (path.name, node.value)
        for path in (PACKAGE / name).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert not {text for text in texts if text[1] in environments()}
