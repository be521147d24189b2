# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of the site, for MkDocs: the documents of this tree, and a page for each environment, command and public module.

``make docs`` writes them to ``build/pages`` and the site to ``build/site``. A link to a file of the tree becomes one to its page, where it has one.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

import typer
import yaml

from mlcb_gym import VERSIONS
from mlcb_gym.cli.main import app
from mlcb_gym.envs import env_class
from mlcb_gym.policies import shipped

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"

DOCUMENTS = {
    "Start": ("docs/index.md", "README.md", "docs/wheel.md", "docs/faq.md", "docs/coming-from.md"),
    "Tutorials": tuple(
        f"docs/tutorials/{name}.md" for name in ("first_policy", "own_loop", "own_programs", "sweep", "reading_a_card", "new_task", "own_compiler")
    ),
    "Guides": ("docs/training.md", "docs/learners.md", "docs/deployment.md", "docs/integration.md"),
    "Tasks": ("docs/posetrl.md", "docs/function_size.md", "docs/inliner.md", "docs/regalloc.md", "docs/rl4real.md", "docs/loop_distribution.md"),
    "Results": ("docs/results.md", "docs/projects.md", "docs/learning.md", "docs/study/README.md", "docs/training_faults.md"),
    "Inside": ("docs/architecture.md", "docs/protocol.md", "docs/security.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"),
}
"""The documents of the tree, by section."""
TITLES = {"index.md": "Home", "overview.md": "Overview", "coming-from.md": "There and here"}
"""What pages are called in the navigation, where their headings are too long or the same."""
IMAGES = ("docs/flow.svg", "docs/study/study.png")
"""Pictures that documents show."""
MODULES = (
    "mlcb_gym.session",
    "mlcb_gym.spec",
    "mlcb_gym.corpus.programs",
    "mlcb_gym.corpus.registry",
    "mlcb_gym.envs.compiler_env",
    "mlcb_gym.envs.vector",
    "mlcb_gym.envs.multi_agent",
    "mlcb_gym.envs.aec",
    "mlcb_gym.agents",
    "mlcb_gym.rollout.play",
    "mlcb_gym.rollout.onnx_policy",
    "mlcb_gym.export.export",
    "mlcb_gym.export.clang_config",
    "mlcb_gym.evaluation.module_metrics",
    "mlcb_gym.toolchain",
    "mlcb_gym.testing",
    "mlcb_gym.errors",
)
"""What programs of others import."""

Pages = dict[str, str]
"""The text of each page, by its path."""


def main() -> None:
    """Writes the pages, and the configuration that lists them."""
    shutil.rmtree(BUILD / "pages", ignore_errors=True)
    sections = {**{name: documents(paths) for name, paths in DOCUMENTS.items()}, **generated()}
    for path, text in (page for pages in sections.values() for page in pages.items()):
        place = BUILD / "pages" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    for image in IMAGES:
        shutil.copy(ROOT / image, BUILD / "pages")
    navigation = [{name: [{TITLES[path]: path} if path in TITLES else path for path in pages]} for name, pages in sections.items()]
    (BUILD / "mkdocs.yml").write_text(yaml.safe_dump({"INHERIT": "../mkdocs.yml", "docs_dir": "pages", "site_dir": "site", "nav": navigation}))


def generated() -> dict[str, Pages]:
    """Return the sections whose pages are in no document."""
    return {
        "Environments": dict(environments()),
        "Policies": documents(tuple(card(task) for task in shipped())),
        "Commands": dict(commands()),
        "Reference": {f"reference/{module}.md": f"# {module}\n\n::: {module}\n" for module in MODULES},
    }


def documents(paths: tuple[str, ...]) -> Pages:
    """Return the pages of some files of the tree."""
    places = page_of()
    return {places[path]: relinked((ROOT / path).read_text(), path, places) for path in paths}


def page_of() -> Mapping[str, str]:
    """Return the path of the page of each document."""
    named = {path: f"{Path(path).stem.lower()}.md" for paths in DOCUMENTS.values() for path in paths}
    otherwise = {"README.md": "overview.md", "docs/study/README.md": "study.md", "SECURITY.md": "vulnerabilities.md"}
    return named | otherwise | {card(task): f"policies/{task}.md" for task in shipped()}


def card(task: str) -> str:
    """Return the path of the card of a policy that ships."""
    return f"mlcb_gym/policies/{task}/README.md"


def relinked(text: str, path: str, places: Mapping[str, str]) -> str:
    """Return a document with its links to other documents as the site has them; what has no page is named instead of linked."""

    def link(found: re.Match[str]) -> str:
        target, hash_, anchor = found[2].partition("#")
        file = normpath(f"{Path(path).parent.as_posix()}/{target}")
        if not (ROOT / file).exists():
            raise FileNotFoundError(f"{path}: a link to {found[2]}, which is no file of the tree")
        if file in places:
            return f"[{found[1]}]({relpath(places[file], Path(places[path]).parent.as_posix())}{hash_}{anchor})"
        return found[0] if file in IMAGES else f"{found[1]} (`{file}`)"

    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)([^)\s]+)\)", link, text)


def environments() -> Iterator[tuple[str, str]]:
    """Yield a page for each environment: the manual that its docstring is."""
    for env_id, task in VERSIONS.items():
        yield f"environments/{env_id}.md", f"# {env_id}\n\n{cleandoc(env_class(task).__doc__ or '')}\n"


def commands() -> Iterator[tuple[str, str]]:
    """Yield a page for each command and group of commands."""
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        parts = [described(f"mlcb {name} {own}", each, "##") for own, each in getattr(command, "commands", {}).items()]
        yield f"commands/{name}.md", "\n".join([described(f"mlcb {name}", command, "#"), *parts])


def described(name: str, command: Any, heading: str) -> str:
    """Return a command with its help and a row for each argument and option."""
    rows = [f"| {_named(each)} | {_cell(getattr(each, 'help', None) or '')} |" for each in command.params if not getattr(each, "hidden", False)]
    table = ["| argument or option | meaning |", "|---|---|", *rows] if rows else []
    return "\n".join([f"{heading} {name}", "", cleandoc(command.help or ""), "", *table, ""])


def _named(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    main()
