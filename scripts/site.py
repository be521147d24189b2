# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of the site, for MkDocs: the documents of this tree, and a page for each environment, algorithm, command and public module.

``make docs`` writes them to ``build/pages`` and the site to ``build/site``. A link to a file of the tree becomes one to its page, where it has one:
that to the module of an environment, or of an algorithm, one to its manual.
"""

import inspect
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from inspect import cleandoc
from pathlib import Path
from posixpath import normpath, relpath
from typing import Any

import gymnasium
import typer
import yaml
from gymnasium import Space
from gymnasium.spaces import Dict

from mlcb_gym import TASKS, VERSIONS
from mlcb_gym.cli.main import app
from mlcb_gym.corpus.corpora import BUILT
from mlcb_gym.corpus.sources import Source, collection
from mlcb_gym.envs import env_class, environments
from mlcb_gym.policies import card, shipped
from mlcb_gym.spec import bind, unbound
from mlcb_gym.training.hyperparameters import hyperparameters
from mlcb_gym.training.learnable import unlearnable
from mlcb_gym.training.registry import algorithms, recipe_class
from scripts import diagrams, licences
from scripts.interval_plot import with_plots

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"

DOCUMENTS = {
    "Start": ("README.md", "docs/install.md", "docs/wheel.md", "docs/faq.md", "docs/glossary.md", "docs/coming-from.md"),
    "Tutorials": tuple(
        f"docs/tutorials/{name}.md" for name in ("first_policy", "own_loop", "own_programs", "sweep", "reading_a_card", "new_task", "own_compiler")
    ),
    "Guides": tuple(f"docs/{name}.md" for name in ("training", "learners", "corpora", "deployment", "integration", "variables")),
    "Tasks": (
        "docs/posetrl.md",
        "docs/function_size.md",
        "docs/function_posetrl.md",
        "docs/inliner.md",
        "docs/regalloc.md",
        "docs/rl4real.md",
        "docs/loop_distribution.md",
    ),
    "Results": tuple(f"docs/{name}.md" for name in ("results", "projects", "learning", "study/README", "benchmarks")),
    "Inside": (
        *(f"docs/{name}.md" for name in ("architecture", "protocol", "security", "attacks", "training_faults")),
        "SECURITY.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ),
}
"""The documents of the tree, by section."""
ORDER = ("Start", "Tutorials", "Guides", "Tasks", "Environments", "Policies", "Algorithms", "Corpora", "Results", "Commands", "Reference", "Inside")
"""The sections, as the navigation has them."""
STYLE = "docs/site.css"
FILES = ("docs/flow.svg", "docs/study/study.png", "constraints.txt")
"""What documents show or link and is no page, beside the pictures of their diagrams."""
EXAMPLES = 3
"""The most that the page of a command has."""
MODULES = (
    "mlcb_gym.session",
    "mlcb_gym.spec",
    "mlcb_gym.corpus.programs",
    "mlcb_gym.corpus.registry",
    "mlcb_gym.envs.compiler_env",
    "mlcb_gym.envs.vector",
    "mlcb_gym.envs.multi_agent",
    "mlcb_gym.envs.aec",
    "mlcb_gym.envs.objective",
    "mlcb_gym.envs.record",
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
TITLES = {
    "index.md": "Home",
    "coming-from.md": "Comparison",
    "vulnerabilities.md": "Report a flaw",
    **{f"policies/{task}.md": task for task in shipped()},
    **{f"reference/{module}.md": module.removeprefix("mlcb_gym.") for module in MODULES},
}
"""What pages are called in the navigation, where their headings are too long or the same."""

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
    for file in (*FILES, STYLE, *diagrams.drawn()):
        shutil.copy(ROOT / file, BUILD / "pages")
    navigation = [{name: [{TITLES[path]: path} if path in TITLES else path for path in sections[name]]} for name in ORDER]
    (BUILD / "mkdocs.yml").write_text(yaml.safe_dump({"INHERIT": "../mkdocs.yml", "docs_dir": "pages", "site_dir": "site", "nav": navigation}))


def generated() -> dict[str, Pages]:
    """Return the sections whose pages are in no document."""
    return {
        "Environments": dict(manuals()),
        "Policies": {path: with_plots(text) for path, text in documents(tuple(map(card, shipped()))).items()},
        "Algorithms": {f"algorithms/{name}.md": algorithm(name) for name in algorithms()},
        "Corpora": {f"corpora/{corpus}.md": projects(corpus) for corpus in BUILT},
        "Commands": dict(commands()),
        "Reference": {_reference(module): f"# {module}\n\n::: {module}\n" for module in MODULES},
    }


def documents(paths: tuple[str, ...]) -> Pages:
    """Return the pages of some files of the tree."""
    places = page_of()
    return {places[path]: _unbroken(drawn(relinked((ROOT / path).read_text(), path, places))) for path in paths}


def page_of() -> Mapping[str, str]:
    """Return the path of the page of each document."""
    named = {path: f"{Path(path).stem.lower()}.md" for paths in DOCUMENTS.values() for path in paths}
    otherwise = {"README.md": "index.md", "docs/study/README.md": "study.md", "SECURITY.md": "vulnerabilities.md"}
    cards = {card(task): f"policies/{task}.md" for task in shipped()}
    modules = {f"mlcb_gym/envs/{task}.py": f"environments/{env_id}.md" for task, env_id in environments().items()}
    recipes = {f"mlcb_gym/training/algorithms/{name}.py": f"algorithms/{name}.md" for name in algorithms()}
    collections = {f"mlcb_gym/corpus/collections/{corpus}.toml": f"corpora/{corpus}.md" for corpus in BUILT}
    return named | otherwise | cards | modules | recipes | collections


def relinked(text: str, path: str, places: Mapping[str, str]) -> str:
    """Return a document with its links to other documents as the site has them; what has no page is named instead of linked."""

    def link(found: re.Match[str]) -> str:
        target, hash_, anchor = found[2].partition("#")
        file = normpath(f"{Path(path).parent.as_posix()}/{target}")
        if not (ROOT / file).exists():
            raise FileNotFoundError(f"{path}: a link to {found[2]}, which is no file of the tree")
        page = Path(file).name if file in FILES else places.get(file)
        if page:
            return f"[{found[1]}]({relpath(page, Path(places[path]).parent.as_posix())}{hash_}{anchor})"
        return f"`{file}`" if found[1].strip("`") in file else f"{found[1]} (`{file}`)"

    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)([^)\s]+)\)", link, text)


def drawn(text: str) -> str:
    """Return a document with pictures in the place of its diagrams, which take a script from another host to be drawn.

    Raises:
        FileNotFoundError: a diagram was not drawn since it was changed.
    """

    def image(found: re.Match[str]) -> str:
        path = diagrams.picture(found[1])
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"{path}: no picture of {found[1].splitlines()[0]!r}, run `python -m scripts.diagrams`")
        name = Path(path).name
        return f"[![diagram]({name})]({name})\n"

    return diagrams.BLOCK.sub(image, text)


def manuals() -> Iterator[tuple[str, str]]:
    """Yield a page for each environment: the manual that its docstring is, and what there is about its task. An earlier version has what differs."""
    for env_id, task in VERSIONS.items():
        text = _manual(task) if env_id == TASKS[task] else _earlier(env_id, TASKS[task])
        yield f"environments/{env_id}.md", f"# {env_id}\n\n{text}\n"


def _manual(task: str) -> str:
    return f"{_fenced(_escaped(cleandoc(env_class(task).__doc__ or '')))}\n\n{about(task)}"


def _earlier(env_id: str, newest: str) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in gymnasium.spec(env_id).kwargs.items())
    return f"An earlier version, kept for what was trained with it: [`{newest}`]({newest}.md) with `{arguments}` by default."


def about(task: str) -> str:
    """Return the section on the task of an environment: its pages, what learns it, and what its policies are compared with."""
    record = env_class(task).record
    guide = next(path for path in DOCUMENTS["Tasks"] if f"(../mlcb_gym/envs/{task}.py)" in (ROOT / path).read_text())
    learning = [_linked(name, f"algorithms/{name}.md") for name in algorithms() if learns(name, task)]
    nulls = ", ".join(f"`{name}`" for name in (*record.reference_policies, *record.portfolios, *record.stock_ways))
    rows = [
        ("guide", _linked("how to use it, and what it gains", page_of()[guide])),
        ("policy that ships", f"{_linked('its card', f'policies/{task}.md')}: training, results, limits" if task in shipped() else "none"),
        ("algorithms", f"{', '.join(learning)}; by default {record.recipe}"),
        ("by default", f"{spaces(task)}; tensors without elements are left out"),
        ("metrics", "; ".join(f"`{metric['name']}`: {metric['doc']}" for metric in unbound(task).declared["metrics"])),
        ("programs", f"those of {_linked(record.corpus, 'corpora.md')}, unless others are named"),
        ("`mlcb evaluate` compares with", f"random episodes, and {nulls}" if record.evaluator == "metrics" else "run times of others: see the guide"),
        ("result of a short training", record.expected or "not measured"),
    ]
    named = f"Commands name it `{task}`, as `mlcb train {task}`."
    return "\n".join(["## The task", "", named, "", *_table(("about it", f"`{task}`"), rows)])


def spaces(task: str) -> str:
    """Return the actions and the shapes of the observations of an environment with its default arguments."""
    with closing(gymnasium.make(TASKS[task])) as env:
        observed = env.observation_space
        assert isinstance(observed, Dict)
        agents = {f"{name}: ": space for name, space in observed.items() if isinstance(space, Dict)} or {"": observed}
        shapes = "; ".join(agent + ", ".join(f"`{name}` {_shape(space)}" for name, space in of.items()) for agent, of in agents.items())
        return f"actions `{env.action_space}`; observations {shapes}"


def _shape(space: Space[Any]) -> str:
    return " × ".join(map(str, space.shape or ())) or str(space)


def learns(name: str, task: str) -> bool:
    """Return whether an algorithm learns all that the agents of a task are asked for."""
    return not unlearnable(recipe_class(name), bind(task, {}))


def algorithm(name: str) -> str:
    """Return the page of an algorithm: the docstrings of its module and its recipe, the tasks that it learns, and its hyperparameters."""
    recipe = recipe_class(name)
    method = inspect.getdoc(inspect.getmodule(recipe)) or ""
    manual = (inspect.getdoc(recipe) or "").partition("\nArgs:")[0].strip()
    tasks = {task: _linked(f"`{task}`", f"environments/{env_id}.md") for task, env_id in sorted(environments().items()) if learns(name, task)}
    own = [link for task, link in tasks.items() if env_class(task).record.recipe == name]
    learnt = f"It trains on {', '.join(tasks.values())}." + (f" It is the default of {', '.join(own)}." if own else "")
    own_parameters = list(hyperparameters(recipe()))
    rows = [(f"`{each.key}`", f"`{each.default}`", each.meaning, _code(recipe.space.get(each.key))) for each in own_parameters]
    values = "`--set KEY=VALUE` changes one; values are JSON. `mlcb sweep` tries those of the last column, unless `--search` names others."
    if any(each.key.startswith("distillation.") for each in own_parameters):
        values += " Those of `distillation` matter with `mlcb train --decisions` alone."
    table = "\n".join(_table(("key", "default", "meaning", "a sweep tries"), rows))
    return "\n\n".join([f"# {name}", method, manual, learnt, "## Hyperparameters", values, table]) + "\n"


def projects(corpus: str) -> str:
    """Return the page of the projects that a corpus was chosen from."""
    found = licences.read(corpus)
    sources = sorted(collection(corpus).sources, key=lambda source: source.name)
    rows = [(source.name, source.split, _origin(source), found.get(source.name, "")) for source in sources]
    about = f"The {len(rows)} projects that {_linked(f'`{corpus}`', 'corpora.md')} was chosen from. Those without a licence gave it no module."
    return "\n\n".join([f"# {corpus}", about, "\n".join(_table(("project", "split", "source", "licences of its modules"), rows))]) + "\n"


def _origin(source: Source) -> str:
    if source.origin == "pypi":
        return f"[PyPI, {source.version}](https://pypi.org/project/{source.name}/{source.version}/)"
    return f"[Debian 12, {source.version}](https://tracker.debian.org/pkg/{source.name})"


def commands() -> Iterator[tuple[str, str]]:
    """Yield a page for each command and group of commands."""
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        parts = [described(f"mlcb {name} {own}", each, "##") for own, each in getattr(command, "commands", {}).items()]
        yield f"commands/{name}.md", "\n".join([described(f"mlcb {name}", command, "#"), *parts, *examples(name)])


def examples(command: str) -> list[str]:
    """Return the section with uses of a command in the documents, tutorials first, the longest line of each."""
    places = page_of()
    found: dict[str, str] = {}
    for path in (*DOCUMENTS["Tutorials"], *DOCUMENTS["Start"], *DOCUMENTS["Guides"], *DOCUMENTS["Tasks"], *DOCUMENTS["Inside"]):
        lines = re.findall(rf"^mlcb {command}(?: (?:.*\\\n)*.*)?$", (ROOT / path).read_text(), re.MULTILINE)
        if lines and len(found) < EXAMPLES:
            found[path] = max(lines, key=len)
    uses = [f"{_linked(_title(path), places[path])}:\n\n```sh\n{line}\n```\n" for path, line in found.items()]
    return ["## Examples", "", *uses] if uses else []


def _title(path: str) -> str:
    return (ROOT / path).read_text().partition("\n")[0].lstrip("# ")


def described(name: str, command: Any, heading: str) -> str:
    """Return a command with its help and a row for each argument and option."""
    rows = [(_named(each), _default(each), getattr(each, "help", None) or "") for each in command.params if not getattr(each, "hidden", False)]
    table = _table(("argument or option", "default", "meaning"), rows) if rows else []
    return "\n".join([f"{heading} {name}", "", cleandoc(command.help or ""), "", *table, ""])


def _named(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    if isinstance(said := getattr(parameter, "show_default", None), str):
        return said
    default = getattr(parameter.default, "value", parameter.default)  # of an enum
    return "" if default in (None, "", (), [], False, True) or callable(default) else f"`{default}`"


def _escaped(text: str) -> str:
    """Return a docstring whose angle brackets are text, outside of code, too."""
    parts = re.split(r"(``.*?``|`.*?`|^>>> .*(?:\n.+)*)", text, flags=re.MULTILINE)
    return "".join(part if i % 2 else part.replace("<", "&lt;") for i, part in enumerate(parts))


def _unbroken(text: str) -> str:
    """Return a document whose intervals are not broken in narrow cells."""
    return re.sub(r"(?<=\d) - (?=\d)", "\u00a0-\u00a0", text)


def _reference(module: str) -> str:
    return f"reference/{module}.md"


def _fenced(text: str) -> str:
    """Return a docstring with its doctests as blocks of code, which Markdown would take for quotations."""
    return re.sub(r"^>>> .*(?:\n.+)*", r"```pycon\n\g<0>\n```", text, flags=re.MULTILINE)


def _linked(text: str, page: str) -> str:
    """Return a link from a page of a section to another."""
    return f"[{text}](../{page})"


def _code(text: str | None) -> str:
    return f"`{text}`" if text else ""


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, whose cells may have any text of one line or more."""
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    return [f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *cells)]


if __name__ == "__main__":
    main()
