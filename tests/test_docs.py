# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the documentation promises: the headings of every environment, and examples that run."""

import doctest
import re
from collections.abc import Sequence
from pathlib import Path

import gymnasium
import pytest

import mlcb_gym  # noqa: F401  (registers the environments)
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.corpus.registry import CORPORA
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.options import arguments_of
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
OURS = [spec for spec in gymnasium.registry.values() if str(spec.entry_point).startswith("mlcb_gym.")]


def class_of(spec: gymnasium.envs.registration.EnvSpec) -> type[CompilerEnv]:
    assert isinstance(spec.entry_point, str)
    return gymnasium.envs.registration.load_env_creator(spec.entry_point)  # type: ignore[return-value]


@pytest.mark.parametrize("spec", OURS, ids=lambda spec: spec.id)
def test_docstring_has_the_headings_in_order(spec: gymnasium.envs.registration.EnvSpec) -> None:
    lines = (class_of(spec).__doc__ or "").splitlines()
    assert [line.strip()[3:] for line in lines if line.strip().startswith("## ")] == HEADINGS


@pytest.mark.parametrize("spec", OURS, ids=lambda spec: spec.id)
def test_docstring_lists_every_observation(spec: gymnasium.envs.registration.EnvSpec) -> None:
    made = class_of(spec)
    for tensor in (tensor for agent in bind(made.task, {}).agents for tensor in agent.inputs):
        assert f"`{tensor.name}`" in (made.__doc__ or "")


@pytest.mark.parametrize("spec", OURS, ids=lambda spec: spec.id)
def test_docstring_has_one_row_for_every_argument_and_nothing_to_fill_in(spec: gymnasium.envs.registration.EnvSpec) -> None:
    doc = class_of(spec).__doc__ or ""
    rows = re.findall(r"^ *\| ``(\w+)`` \|", doc, re.MULTILINE)
    assert sorted(rows) == sorted(arguments_of(class_of(spec)))
    assert not re.search(r"^ *\{\w+\}$", doc, re.MULTILINE)


@pytest.mark.parametrize("spec", OURS, ids=lambda spec: spec.id)
def test_docstring_example_runs(spec: gymnasium.envs.registration.EnvSpec) -> None:
    made = class_of(spec)
    example = doctest.DocTestParser().get_doctest(made.__doc__ or "", {}, spec.id, None, None)
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
