# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files that a host of the project reads: they parse, call targets that the Makefile has, and name the version of the package."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import mlcb_gym

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
TARGETS = set(re.findall(r"^([\w-]+)(?: [\w-]+)*:", (ROOT / "Makefile").read_text(), re.MULTILINE))


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in parsed(workflow)["jobs"].values() for step in job["steps"]]


def matrix(workflow: Path, name: str) -> list[str]:
    return [value for job in parsed(workflow)["jobs"].values() for value in job.get("strategy", {}).get("matrix", {}).get(name, ())]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_calls_targets_and_scripts_that_exist(workflow: Path) -> None:
    text = workflow.read_text().replace("${{ matrix.target }}", " make ".join(matrix(workflow, "target")))
    assert set(re.findall(r"run:.*?\bmake ([\w-]+)", text)) | set(matrix(workflow, "target")) <= TARGETS
    assert all((ROOT / script).exists() for script in re.findall(r"scripts/[\w.-]+", text))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_step_of_a_workflow_runs_a_command_or_a_pinned_action(workflow: Path) -> None:
    assert [step for step in steps(workflow) if not ("run" in step or re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "")))] == []


def test_a_change_is_checked_on_both_systems_and_a_night_runs_what_is_slow() -> None:
    by_name = {path.stem: path for path in WORKFLOWS}
    assert matrix(by_name["check"], "system") == ["debian:12", "ubuntu:24.04"]
    assert matrix(by_name["nightly"], "target") == ["check-sanitizers", "check-slow", "fuzz"]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_template_asks_something(template: Path) -> None:
    assert [field["attributes"]["label"] for field in parsed(template)["body"]]


def test_citation_names_the_version_of_the_package() -> None:
    assert parsed(ROOT / "CITATION.cff")["version"] == mlcb_gym.__version__


@pytest.mark.slow
@pytest.mark.parametrize("pins", ["constraints.txt", "docs/requirements.txt"])
def test_pinned_packages_are_for_the_oldest_python_too(pins: str, tmp_path: Path) -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    resolves = ("pip", "install", "-q", "--dry-run", "--no-deps", "--ignore-installed", "--only-binary=:all:")
    oldest = ("--python-version", f"{required.removeprefix('>=')}.0", "--target", tmp_path)
    ran = subprocess.run([sys.executable, "-m", *resolves, *oldest, "-r", ROOT / pins], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
