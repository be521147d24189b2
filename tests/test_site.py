# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The site's pages: every document, environment and command has one, and links lead to files that exist."""

from importlib import import_module
from pathlib import Path

import pytest
import typer

from mlcb_gym import VERSIONS
from mlcb_gym.cli.main import app
from scripts.site import DOCUMENTS, MODULES, card, documents, generated, page_of, relinked

ROOT = Path(__file__).parents[1]


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


def test_every_environment_and_command_has_a_page() -> None:
    pages = generated()
    assert set(pages["Environments"]) == {f"environments/{env_id}.md" for env_id in VERSIONS}
    assert set(pages["Commands"]) == {f"commands/{name}.md" for name in typer.main.get_command(app).commands}  # type: ignore[attr-defined]
    assert "`--output`, `-o`" in pages["Commands"]["commands/train.md"]


@pytest.mark.parametrize("module", MODULES)
def test_module_of_the_reference_can_be_imported(module: str) -> None:
    assert import_module(module).__doc__
