# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the documentation promises: the headings of every environment, and examples that run."""

import doctest
import re
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import mlcb_gym  # noqa: F401  (registers the environments)
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.corpus.registry import CORPORA
from mlcb_gym.envs import class_of
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.options import Options, arguments_of
from mlcb_gym.envs.regalloc import env_arguments
from mlcb_gym.pipelines import LIGHT
from mlcb_gym.session import Limits, Target
from mlcb_gym.spec import bind

ROOT = Path(__file__).parents[1]
HEADINGS = [
    "Description",
    "Action Space",
    "Observation Space",
    "Rewards",
    "Starting State",
    "Episode End",
    "Arguments",
    "Version History",
]
OURS = {spec.id: class_of(spec.id) for spec in gymnasium.registry.values() if str(spec.entry_point).startswith("mlcb_gym.")}
IN_WORDS: Mapping[Any, str] = {Target(): "the module's", Limits(): "``Limits()``", LIGHT: "``LIGHT`` of ``mlcb_gym.pipelines``"}
"""Defaults that a table does not have as Python writes them."""

of_each = pytest.mark.parametrize("made", OURS.values(), ids=OURS)


@of_each
def test_docstring_has_the_headings_in_order(made: type[CompilerEnv]) -> None:
    lines = (made.__doc__ or "").splitlines()
    assert [line.strip()[3:] for line in lines if line.strip().startswith("## ")] == HEADINGS


@of_each
def test_docstring_lists_every_observation(made: type[CompilerEnv]) -> None:
    for tensor in (tensor for agent in bind(made.task, {}).agents for tensor in agent.inputs):
        assert f"`{tensor.name}`" in (made.__doc__ or "")


def table(made: type[CompilerEnv]) -> list[tuple[str, str]]:
    """The arguments in a docstring, and their defaults."""
    return re.findall(r"^ *\| ``(\w+)`` \| (.+?) \|", made.__doc__ or "", re.MULTILINE)


@of_each
def test_docstring_has_one_row_for_every_argument_and_nothing_to_fill_in(made: type[CompilerEnv]) -> None:
    assert sorted(name for name, _ in table(made)) == sorted(arguments_of(made))
    assert not re.search(r"^ *\{\w+\}$", made.__doc__ or "", re.MULTILINE)


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """The defaults that a function declares, but None, which may stand for another one."""
    return {name: parameter.default for name, parameter in signature(function).parameters.items() if parameter.default not in (Parameter.empty, None)}


def cell(default: Any) -> str:
    return IN_WORDS.get(default) or (f'``"{default}"``' if isinstance(default, str) else str(default))


@of_each
def test_docstring_has_the_defaults_of_the_arguments(made: type[CompilerEnv]) -> None:
    declared = vars(Options()) | defaults(env_arguments) | defaults(made)
    assert {name: default for name, default in table(made) if name in declared and default != cell(declared[name])} == {}


@of_each
def test_docstring_example_runs(made: type[CompilerEnv]) -> None:
    example = doctest.DocTestParser().get_doctest(made.__doc__ or "", {}, made.__name__, None, None)
    assert doctest.DocTestRunner().run(example) == doctest.TestResults(failed=0, attempted=len(example.examples))


def test_every_promise_of_security_names_a_test_that_exists() -> None:
    named = re.findall(r"`(tests/\w+\.py)::(\w+)`", (ROOT / "docs/security.md").read_text())
    assert len(named) > 10
    assert [one for one in named if f"def {one[1]}(" not in (ROOT / one[0]).read_text()] == []


def test_quick_start_of_the_readme_plays_an_episode(capfd: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    exec(compile(block, "README.md", "exec"), {})
    program, ratio = capfd.readouterr().out.split()
    assert program.startswith("embedded/train/")
    assert 0.5 < float(ratio) < 2


def test_readme_is_one_screen() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 110
    assert len(readme.split()) <= 600


def test_page_of_variables_has_all_that_are_read() -> None:
    sources = [path.read_text() for folder in ("mlcb_gym", "native") for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".cpp")]
    page = (ROOT / "docs/variables.md").read_text()
    assert set(re.findall(r"`(MLCB_\w+)`", page)) == set(re.findall(r'"(MLCB_[A-Z_]+)"', "".join(sources)))


def held(corpus: str, split: str) -> Sequence[corpora.Module | Program]:
    """Return the modules of a split, built or not."""
    if corpus in corpora.BUILT:
        return [module for module in corpora.manifest(corpus) if module.split == split]
    return resolve(f"{corpus}/{split}")


@pytest.mark.parametrize("corpus", CORPORA)
def test_page_of_corpora_has_the_modules_and_projects_of_every_split(corpus: str) -> None:
    splits = [held(corpus, split) for split in CORPORA[corpus].splits]
    cells = " | ".join(f"{len(modules)} ({len({module.project for module in modules})})" for modules in splits)
    assert re.search(rf"^\| `{corpus}` \| .+ \| {re.escape(cells)} \|$", (ROOT / "docs/corpora.md").read_text(), re.M), cells


def test_readme_has_what_the_projects_came_to() -> None:
    projects, readme = ((ROOT / name).read_text() for name in ("docs/projects.md", "README.md"))
    rows = re.findall(r"^\| (?:`.+|stock once more) \| ([\d.]+ \([\d.]+\)) \| ([\d.]+ \([\d.]+\)) \|$", readme, re.M)
    assert len(rows) >= 3
    for linked, cpu in rows:
        assert re.search(rf"^\| .+ \| {re.escape(linked)} \| [\d.]+ \([\d.]+\) \| {re.escape(cpu)} \|", projects, re.M), (linked, cpu)
