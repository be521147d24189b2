# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The projects that are built for docs/projects.md: what counts as a failure, what is built anew, and that nothing was trained on them."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.sources import collection
from scripts.projects import build, page
from scripts.projects.build import Built, Cost, Ended, end_running, run
from scripts.projects.recipe import WAYS, Project, Way, made_from, projects

STOCK = Built(
    ["22"], Cost(1, 100), Cost(2, 100), {"a": {".text": 1000, ".data": 10}, "b": {".text": 9000}}, {"a": 2000, "b": 9900}, "passed", "same", [1.0]
)
GUARDED = Way("-Oz", ("function_size",), guard=True)


def results(**changed: object) -> page.Results:
    """A project whose files are stock's in all ways but one."""
    return {"project": {way.name: replace(STOCK, **changed) if way == GUARDED else STOCK for way in WAYS}}  # type: ignore[arg-type]


def test_what_is_as_stock_fails_nothing() -> None:
    assert list(page.failures(results())) == []
    assert "| project | 10010 | 1.000 |" in page.text(results())


@pytest.mark.parametrize(
    ("changed", "failure"),
    [
        ({"tests": "failed"}, "tests: failed; of stock: passed"),
        ({"output": "other"}, "its workload wrote something else than stock's"),
        ({"sections": {"a": {".text": 1002, ".data": 10}, "b": {".text": 8000}}}, "a has 1012 bytes linked, stock's 1010"),
    ],
)
def test_what_differs_is_a_failure(changed: dict[str, object], failure: str) -> None:
    assert list(page.failures(results(**changed))) == [f"project, {GUARDED.name}: {failure}"]


def test_no_ratio_is_shown_of_what_was_not_measured() -> None:
    found = {"project": {way.name: replace(STOCK, runs=[]) for way in WAYS}}
    assert "| project |  |  |" in page.text(found).partition("## Every project: run time")[2]


def test_build_depends_on_recipe_and_policies() -> None:
    project = Project(name="a", version="1", sha256="0", build="make", linked=["a"])
    assert made_from(project, WAYS[0]) == made_from(project, WAYS[0]) != made_from(replace(project, build="make -j"), WAYS[0])
    assert made_from(project, WAYS[0]) != made_from(project, GUARDED) != made_from(project, Way("-Oz", ("inliner",)))


def test_build_is_read_as_it_was_written(tmp_path: Path) -> None:
    STOCK.write(tmp_path / "stock.json")
    assert Built.read(tmp_path / "stock.json") == STOCK


def test_command_that_runs_ends_with_all_that_it_started_and_no_other_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_ended", Event())
    folder = tmp_path / "project" / "00"
    folder.mkdir(parents=True)
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(run, "sleep 60 | tee began", folder, {"PATH": "/usr/bin:/bin"})
        until = time.monotonic() + 10
        while not (folder / "began").exists() and time.monotonic() < until:
            time.sleep(0.01)
        end_running()
        with pytest.raises(Ended):
            ended.result(timeout=10)
    with pytest.raises(Ended):
        run("sleep 60", folder, {"PATH": "/usr/bin:/bin"})


def test_projects_are_in_no_split_that_is_learnt_or_chosen_by() -> None:
    names = {project.name for project in projects()}
    assert len(names) >= 16
    for corpus in corpora.BUILT:
        assert not {source.name for source in collection(corpus).sources if source.split != "test"} & names
