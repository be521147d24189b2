# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the documentation promises: the headings of every environment, and examples that run."""

import doctest
import re
from pathlib import Path

import gymnasium
import pytest

import mlcb_gym  # noqa: F401  (registers the environments)
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


def test_readme_has_what_the_projects_came_to() -> None:
    projects, readme = ((ROOT / name).read_text() for name in ("docs/projects.md", "README.md"))
    rows = re.findall(r"^\| (?:`.+|stock once more) \| -O[z23] \| ([\d.]+ \([\d.]+\)) \| ([\d.]+ \([\d.]+\)) \|$", readme, re.M)
    assert len(rows) == 10
    for linked, cpu in rows:
        assert re.search(rf"^\| .+ \| {re.escape(linked)} \| [\d.]+ \([\d.]+\) \| {re.escape(cpu)} \|", projects, re.M), (linked, cpu)
