# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page about trainings, sweeps and evaluations, as a browser shows it."""

import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from rich.console import Console

from mlcb_gym.errors import TrainingError
from mlcb_gym.evaluation.report import EVALUATION, Evaluation
from mlcb_gym.reporting.page import write_report
from mlcb_gym.reporting.runs import groups, read_shown
from mlcb_gym.training.run import recipe
from mlcb_gym.training.sweep import DECLARATION, Sweep
from mlcb_gym.training.sweep_run import run_sweep
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment

PROGRAM = "embedded/train/fft"
ACTIONS = ["function(mem2reg)", "function(sroa,early-cse)", "default<Oz>", "stop"]
ENVIRONMENT = Environment("PosetRL-v0", {"programs": [PROGRAM], "actions": ACTIONS, "max_steps": 3})
SMALL = {"steps_per_iteration": 32, "num_envs": 2, "statistics_episodes": 2, "network": {"hidden": [16]}}
BLUE = (31, 119, 180)
"""The first colour of matplotlib's cycle."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs that differ in their seed alone, and one of another algorithm."""
    folder = tmp_path_factory.mktemp("runs")
    for algorithm, seed in (("ppo", 1), ("ppo", 2), ("dqn", 1)):
        changes = SMALL | {"seed": seed} | ({"replay": {"warmup": 32}} if algorithm == "dqn" else {})
        where, budget = folder / f"{algorithm}-{seed}", Budget(iterations=3, validate_every=1)
        chosen = recipe(algorithm, changes)
        train(ENVIRONMENT, recipe=chosen, validation=[PROGRAM], output=where, budget=budget, console=Console(file=io.StringIO()))
    return sorted(folder.iterdir(), reverse=True)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    evaluation = Evaluation(policy="a policy", programs=["first", "second"], projects=["one", "two"], baseline="Oz", pairs=(("policy", "random"),))
    for method, sizes in {"Oz": [100.0, 200.0], "policy": [90.0, 198.0], "random": [130.0, 210.0]}.items():
        evaluation.add(method, {"size": sizes})
    folder = tmp_path_factory.mktemp("evaluation")
    evaluation.write(folder)
    return folder


def test_runs_that_differ_in_their_seed_are_one_group(runs: list[Path]) -> None:
    first, second = groups(map(read_shown, runs))
    assert [group.title for group in (first, second)] == ["posetrl, ppo", "posetrl, dqn"]
    assert [shown.run.recipe.seed for shown in first.runs] == [2, 1]
    steps, curves = first.curve
    assert (len(steps), [len(curve) for curve in curves]) == (4, [4, 4])
    assert first.settings["network.hidden"] == "[16]"
    assert "seed" not in first.settings
    assert first.settings["programs"] == json.dumps([PROGRAM])
    assert set(first.seconds) == {"LLVM (waited for)", "Python and transport", "model", "RLlib"}
    assert all(seconds > 0 for seconds in first.seconds.values())


def test_shares_of_actions_are_those_taken(runs: list[Path]) -> None:
    steps, shares = read_shown(runs[0]).actions
    assert (len(steps), shares.shape) == (3, (3, len(ACTIONS)))
    assert shares.sum(axis=1) == pytest.approx([1, 1, 1])
    assert (shares[0] > 0).all()  # a first policy takes all


def test_evaluation_is_read_as_it_was_written(evaluated: Path) -> None:
    read = Evaluation.read(evaluated)
    assert read.estimates("policy") == Evaluation.read(evaluated).estimates("policy")
    assert read.compared == [("policy", "random")]
    assert read.to_json()["summary"]["policy"]["size"]["mean"] == pytest.approx((0.9 * 0.99) ** 0.5)


def test_page_is_one_file_with_every_figure_of_its_folders(runs: list[Path], evaluated: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_report([*runs, evaluated], page)
    text = page.read_text()
    assert not re.findall(r'(?:src|href)="(?!data:)', text)
    assert text.count("<img") == 2 + len(runs) + 1
    assert all(str(folder) in text for folder in runs)
    assert "2 programs of 2 projects" in text
    assert "<td>first</td><td>1.0000</td><td>0.9000</td><td>1.3000</td>" in text
    assert list(tmp_path.iterdir()) == [page]


def test_run_that_is_named_twice_is_shown_once(runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs[0].parent)
    write_report([runs[0], Path(runs[0].name), Path(f"../{runs[0].parent.name}/{runs[0].name}")], tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text().count("Actions taken: ") == 1


def test_seeds_are_counted_not_runs(runs: list[Path], tmp_path: Path) -> None:
    again = shutil.copytree(runs[0], tmp_path / "again", symlinks=True)
    assert [group.seeds for group in groups(map(read_shown, [runs[0], again]))] == ["seed 2"]
    assert [group.seeds for group in groups(map(read_shown, [*runs, again]))] == ["2 seeds", "seed 1"]


def test_folder_of_a_run_and_its_evaluation_is_shown_as_both(runs: list[Path], evaluated: Path, tmp_path: Path) -> None:
    both = shutil.copytree(runs[0], tmp_path / "both", symlinks=True)
    shutil.copytree(evaluated, both, dirs_exist_ok=True)
    write_report([both], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Actions taken: " in text
    assert "2 programs of 2 projects" in text


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: [],
        lambda saved: {name: value for name, value in saved.items() if name != "projects"},
        lambda saved: saved | {"ratios": {"size": {"Oz": [1.0]}}},
        lambda saved: saved | {"ratios": {"size": {method: ["1.0", "1.0"] for method in saved["seconds"]}}},
        lambda saved: saved | {"baseline": "O3"},
    ],
    ids=["no object", "incomplete", "short", "texts", "no baseline"],
)
def test_damaged_evaluation_is_one_line(evaluated: Path, tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    saved = json.loads((evaluated / EVALUATION).read_text())
    (tmp_path / EVALUATION).write_text(json.dumps(change(saved)))
    with pytest.raises(TrainingError, match=rf"^{tmp_path}/{EVALUATION}: a damaged evaluation, expected one as `mlcb evaluate` wrote it: [^\n]*$"):
        write_report([tmp_path], tmp_path / "report.html")


@pytest.mark.parametrize("name", [EVALUATION, DECLARATION])
def test_fifo_is_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match=rf"no regular file, expected one: '{tmp_path}/{name}'$"):
        write_report([tmp_path], tmp_path / "report.html")


def test_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=rf"^{tmp_path}: no run, expected a folder that `mlcb train` wrote$"):
        write_report([tmp_path], tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium: apt install chromium")
def test_browser_draws_the_page(runs: list[Path], evaluated: Path, tmp_path: Path) -> None:
    sweep = Sweep(
        environment=ENVIRONMENT,
        recipe=recipe("ppo", SMALL),
        validation=[PROGRAM],
        space={"lr": "log(1e-4,1e-2)"},
        trials=2,
        budget=Budget(iterations=2, validate_every=1),
    )
    run_sweep(sweep, tmp_path / "sweep", Console(file=io.StringIO()))
    write_report([*runs, evaluated, tmp_path / "sweep"], tmp_path / "report.html")
    boxes, pixels = drawn(tmp_path / "report.html", tmp_path)
    # two curves, what each run took its time for and chose, the evaluation's programs, the sweep's trials
    assert len(boxes) == 2 + len(runs) + 1 + 1
    pictures = [pixels[y : y + height, x : x + width] for x, y, width, height in boxes]
    for picture in pictures:
        assert picture.shape[0] > 100
        assert picture.shape[1] > 300
        assert ((picture != 255).any(axis=2)).mean() > 0.005, "an empty picture"
    assert (abs(pictures[0] - BLUE) < 4).all(axis=2).sum() > 100, "no learning curve"


def drawn(page: Path, folder: Path) -> tuple[list[list[int]], np.ndarray]:
    """Where a browser puts the pictures of a page (x, y, width, height), and what it draws in all."""
    asking = "document.body.dataset.boxes = [...document.images].map(i => [i.x, i.y, i.width, i.height].map(Math.round))"
    asked, shot = folder / "asked.html", folder / "page.png"
    asked.write_text(f"{page.read_text()}<script>addEventListener('load', () => {{ {asking} }})</script>")
    command = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1200,9000"]
    dom = subprocess.run([*command, "--dump-dom", asked.as_uri()], check=True, capture_output=True, text=True, timeout=120).stdout
    subprocess.run([*command, f"--screenshot={shot}", page.as_uri()], check=True, capture_output=True, timeout=120)
    (numbers,) = re.findall(r'data-boxes="([\d,]+)"', dom)
    boxes = np.array(numbers.split(","), int).reshape(-1, 4).tolist()
    return boxes, np.round(imread(shot)[..., :3] * 255).astype(int)
