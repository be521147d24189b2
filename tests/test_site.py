# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The site's pages: every document, environment, algorithm and command has one, and links lead to files that exist."""

import inspect
import re
import shlex
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
import typer

from mlcb_gym import VERSIONS
from mlcb_gym.cli.main import app
from mlcb_gym.policies import card
from mlcb_gym.training.hyperparameters import hyperparameters
from mlcb_gym.training.registry import algorithms, recipe_class
from scripts.diagrams import FOLDER
from scripts.interval_plot import Ratio, plot, ratios
from scripts.site import DOCUMENTS, FILES, MODULES, ORDER, TITLES, documents, drawn, generated, page_of, relinked

ROOT = Path(__file__).parents[1]
DOCUMENTED = (type, FunctionType, MethodType, property, cached_property)
"""What a docstring describes; values of other types are described by the text behind them."""


def anchors(file: Path) -> set[str]:
    """Return the names by which links lead to a document's headings, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower())) for heading in headings}


def test_every_document_has_a_page_of_its_own() -> None:
    placed = {path for paths in DOCUMENTS.values() for path in paths}
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")} <= placed
    assert len(set(page_of().values())) == len(page_of())


@pytest.mark.parametrize("section", DOCUMENTS)
def test_links_of_a_section_lead_to_files_of_the_tree(section: str) -> None:
    assert all(text for text in documents(DOCUMENTS[section]).values())


def test_link_to_no_file_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match=r"README.md: a link to docs/gone.md"):
        relinked("[gone](docs/gone.md)", "README.md", page_of())


def test_link_to_a_document_is_one_to_its_page_and_to_a_folder_its_name() -> None:
    text = relinked("[a](docs/protocol.md#grpc) [b](examples/c)", "README.md", page_of())
    assert text == "[a](protocol.md#grpc) b (`examples/c`)"
    assert relinked("[examples/c](examples/c)", "README.md", page_of()) == "`examples/c`"
    assert relinked("![d](docs/flow.svg)", "README.md", page_of()) == "![d](flow.svg)"
    assert relinked("[e](../mlcb_gym/envs/posetrl.py)", "docs/posetrl.md", page_of()) == "[e](environments/PosetRL-v0.md)"
    assert relinked("[c](../../../docs/deployment.md)", card("posetrl"), page_of()) == "[c](../deployment.md)"


def test_navigation_names_pages_and_pictures_that_exist() -> None:
    assert TITLES.keys() <= set(page_of().values()) | generated()["Reference"].keys()
    assert [file for file in FILES if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("path", [path for paths in DOCUMENTS.values() for path in paths])
def test_link_to_a_heading_leads_to_one(path: str) -> None:
    here = (ROOT / path).parent
    links = re.findall(r"\]\(([^)\s:#]*)#([^)\s]+)\)", (ROOT / path).read_text())
    assert [(file, anchor) for file, anchor in links if anchor not in anchors(here / file if file else ROOT / path)] == []


def test_every_figure_of_the_questions_stands_in_another_document() -> None:
    figures = set(re.findall(r"\d+\.\d+", (ROOT / "docs/faq.md").read_text()))
    others = "".join((ROOT / path).read_text() for paths in DOCUMENTS.values() for path in paths if path != "docs/faq.md")
    assert [figure for figure in sorted(figures) if figure not in others] == []


def test_picture_of_the_flow_is_readable_in_the_dark_and_at_the_width_of_a_phone() -> None:
    picture = ElementTree.parse(ROOT / "docs/flow.svg").getroot()
    assert int(picture.attrib["viewBox"].split()[2]) <= 400
    assert "prefers-color-scheme: dark" in "".join(picture.itertext())


def test_messages_of_a_sequence_diagram_have_no_semicolon_which_would_end_them() -> None:
    diagrams = re.findall(r"^```mermaid\nsequenceDiagram\n(.*?)^```$", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(diagrams) == 1
    assert ";" not in diagrams[0]


def test_every_environment_and_command_has_a_page() -> None:
    pages = generated()
    assert set(pages["Environments"]) == {f"environments/{env_id}.md" for env_id in VERSIONS}
    assert set(pages["Commands"]) == {f"commands/{name}.md" for name in typer.main.get_command(app).commands}  # type: ignore[attr-defined]
    assert "`--output`, `-o`" in pages["Commands"]["commands/train.md"]


def test_sections_of_the_navigation_are_those_that_there_are() -> None:
    assert sorted(ORDER) == sorted([*DOCUMENTS, *generated()])


@pytest.mark.parametrize("name", algorithms())
def test_page_of_an_algorithm_has_its_hyperparameters_and_commands_that_can_be_parsed(name: str) -> None:
    page = generated()["Algorithms"][f"algorithms/{name}.md"]
    assert [each.key for each in hyperparameters(recipe_class(name)()) if f"| `{each.key}` | `{each.default}` |" not in page] == []
    (block,) = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert f"--algo {name} " in block
    assert [line for line in block.splitlines() if parsed(line).args] == []


def parsed(line: str) -> Any:
    """Return the context of a command, which has the arguments that no option of it takes."""
    command: Any = typer.main.get_command(app)
    _, *words = shlex.split(line, comments=True)
    while words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command.make_context("mlcb", words)


def test_earlier_version_of_an_environment_has_what_differs() -> None:
    page = generated()["Environments"]["environments/RegAllocEviction-v0.md"]
    assert "[`RegAllocEviction-v1`](RegAllocEviction-v1.md) with `cost='allocated'` by default" in page


def test_diagram_is_a_picture_and_one_that_was_not_drawn_an_error() -> None:
    (page,) = documents(("docs/architecture.md",)).values()
    pictures = re.findall(r"!\[diagram\]\((.+?)\)", page)
    assert [(ROOT / FOLDER / picture).exists() for picture in pictures] == [True, True]
    with pytest.raises(FileNotFoundError, match=r"no picture of 'flowchart', run `python -m scripts.diagrams`"):
        drawn("```mermaid\nflowchart\n```\n")


def test_angle_brackets_of_a_docstring_are_text() -> None:
    page = generated()["Environments"]["environments/PosetRL-v0.md"]
    assert "default<O" not in re.sub(r"```.*?```|``.*?``|`[^`]*`", "", page, flags=re.DOTALL)


def test_page_of_a_command_has_its_uses_in_the_documents() -> None:
    page = generated()["Commands"]["commands/sweep.md"]
    assert "## Examples" in page
    assert "](../sweep.md):\n\n```sh\nmlcb sweep posetrl" in page


def test_page_of_an_algorithm_names_the_tasks_that_it_learns() -> None:
    pages = generated()["Algorithms"]
    assert "[`priority`]" in pages["algorithms/es.md"]
    assert "[`priority`]" not in pages["algorithms/dqn.md"]
    assert "It is the default of [`inliner`]" in pages["algorithms/mlgo.md"]


def test_page_of_an_environment_has_its_nulls_its_card_and_its_example_as_code() -> None:
    page = generated()["Environments"]["environments/PosetRL-v0.md"]
    assert "`best fixed sequence`, `coreset`" in page
    assert "[its card](../policies/posetrl.md)" in page
    assert "```pycon\n>>> import gymnasium, mlcb_gym\n" in page


def test_card_has_a_plot_of_its_ratios() -> None:
    page = generated()["Policies"]["policies/posetrl.md"]
    assert page.count("<circle") == 10
    assert ">policy, guarded: 0.9857</text>" in page


def test_interval_is_drawn_where_its_ratios_are() -> None:
    table = "| method | size / -Oz | by program |\n|---|---|---|\n| policy | 0.9000 | 0.8000 - 1.0000 |\n| `none` | 1.0000 | |\n"
    rows = list(ratios(table))
    assert rows == [Ratio("policy", 0.9, 0.8, 1.0), Ratio("none", 1.0, 1.0, 1.0)]
    assert 'x1="12.0" x2="388.0"' in plot(rows, "size / -Oz")
    assert '<circle cx="200.0"' in plot(rows, "size / -Oz")


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_of_the_reference_has_a_docstring(module: str) -> None:
    imported = import_module(module)
    assert imported.__doc__
    assert undocumented(imported) == []


def undocumented(module: ModuleType) -> list[str]:
    """Return the public classes and functions of a module, and what is public in these classes, without a docstring."""
    names = getattr(module, "__all__", None) or [name for name in public(module) if getattr(vars(module)[name], "__module__", "") == module.__name__]
    found = {name: getattr(module, name) for name in names}
    classes = [value for value in found.values() if isinstance(value, type)]
    members = {f"{owner.__name__}.{name}": getattr(owner, name) for owner in classes for name in public(owner)}
    return [name for name, value in (found | members).items() if isinstance(value, DOCUMENTED) and not inspect.getdoc(value)]


def public(holder: ModuleType | type) -> list[str]:
    return [name for name in vars(holder) if not name.startswith("_")]
