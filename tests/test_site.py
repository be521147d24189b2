# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The site's pages: every document, environment and command has one, and links lead to files that exist."""

import re
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer

from mlcb_gym import VERSIONS
from mlcb_gym.cli.main import app
from scripts.site import DOCUMENTS, IMAGES, MODULES, TITLES, card, documents, generated, page_of, relinked

ROOT = Path(__file__).parents[1]


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
    assert relinked("[c](../../../docs/deployment.md)", card("posetrl"), page_of()) == "[c](../deployment.md)"


def test_navigation_names_pages_and_pictures_that_exist() -> None:
    assert TITLES.keys() <= set(page_of().values())
    assert [image for image in IMAGES if not (ROOT / image).exists()] == []


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


def test_every_environment_and_command_has_a_page() -> None:
    pages = generated()
    assert set(pages["Environments"]) == {f"environments/{env_id}.md" for env_id in VERSIONS}
    assert set(pages["Commands"]) == {f"commands/{name}.md" for name in typer.main.get_command(app).commands}  # type: ignore[attr-defined]
    assert "`--output`, `-o`" in pages["Commands"]["commands/train.md"]


@pytest.mark.parametrize("module", MODULES)
def test_module_of_the_reference_can_be_imported(module: str) -> None:
    assert import_module(module).__doc__
