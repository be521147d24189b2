# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sweeps: what they are declared by, and one that is killed in the middle, goes on, and whose best policy is exported."""

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil
import pytest
from ray.tune import ExperimentAnalysis
from ray.tune.search.sample import Categorical, Float, Integer

from mlcb_gym.errors import TrainingError
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.training.loop import Budget
from mlcb_gym.training.ray_session import PREFIX, remove_left_folders
from mlcb_gym.training.registry import algorithms, recipe_class
from mlcb_gym.training.run import recipe
from mlcb_gym.training.search_space import domain, search_space, with_values
from mlcb_gym.training.sweep import DECLARATION, Sweep
from mlcb_gym.training.sweep_results import Outcome, draw, drawn, link_best, read_outcomes, table
from mlcb_gym.training.sweep_run import Status
from mlcb_gym.training.training_env import Environment
from mlcb_gym.training.trial import UPDATES, updates_of_running
from tests.support.pickled_code import Code

PROGRAM = "embedded/train/fft"
SECONDS = 300


def declared(**changes: Any) -> Sweep:
    environment = Environment("PosetRL-v0", {"programs": [PROGRAM]})
    plain: dict[str, Any] = {"environment": environment, "recipe": recipe("ppo"), "validation": [PROGRAM], "space": {"lr": "log(1e-5,1e-3)"}}
    return Sweep(**plain | changes)


@pytest.mark.parametrize(
    ("text", "kind", "bounds"),
    [("log(1e-5, 1e-3)", Float, (1e-5, 1e-3)), ("uniform(0.9,1)", Float, (0.9, 1.0)), ("int(1,5)", Integer, (1, 6))],
)
def test_range_of_values(text: str, kind: type[Any], bounds: tuple[float, float]) -> None:
    values: Any = domain("lr", text)
    assert isinstance(values, kind)
    assert (values.lower, values.upper) == bounds


def test_choice_of_lists_is_one_of_their_texts_until_a_trial_takes_it() -> None:
    values = domain("network.hidden", "[[64],[256,256]]")
    assert isinstance(values, Categorical)
    assert values.categories == ["[64]", "[256, 256]"]
    assert with_values(recipe("ppo"), {"network.hidden": "[256, 256]"}).network.hidden == (256, 256)


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({}, r"^ppo: an empty search space, expected some NAME=DOMAIN as lr=log\(1e-5,1e-3\)$"),
        ({"lr": "[]"}, r"^lr=\[\]: expected log\(LOW,HIGH\), uniform"),
        ({"lr": "log(0,1)"}, r"^lr=log\(0,1\): expected LOW < HIGH, both above 0, both finite$"),
        ({"lr": "uniform(2,1)"}, r"^lr=uniform\(2,1\): expected LOW < HIGH, both finite$"),
        ({"num_envs": "int(1,inf)"}, r"^num_envs=int\(1,inf\): expected LOW < HIGH, both finite$"),
        ({"num_envs": "int(0.5,2)"}, r"^num_envs=int\(0.5,2\): expected integers$"),
        ({"lr": "log(a,1)"}, r"^lr=log\(a,1\): 'a' is no number, expected log"),
        ({"lr": '["fast"]'}, r'^lr="fast": expected float$'),
        ({"network.hiden": "[[4]]"}, r"^network.hiden: network has no such hyperparameter"),
        ({"learning": "log(1,2)"}, r"^learning: ppo has no such hyperparameter, expected one of clip, "),
    ],
)
def test_wrong_space_is_named(space: dict[str, str], said: str) -> None:
    with pytest.raises(TrainingError, match=said):
        search_space(recipe("ppo"), space)


@pytest.mark.parametrize("algorithm", algorithms())
def test_default_space_fits_its_recipe(algorithm: str) -> None:
    assert search_space(recipe(algorithm), recipe_class(algorithm).space)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"budget": Budget(iterations=0)}, r"^iterations=0, seconds=inf: expected time for one update or more$"),
        ({"scheduler": "hyperband"}, r"^scheduler hyperband: expected one of asha, pbt, none$"),
        ({"searcher": "grid"}, r"^searcher grid: expected one of random, optuna$"),
        ({"scheduler": "pbt", "space": {"network.hidden": "[[4]]"}}, r"^network.hidden: cannot change during a run, which pbt does"),
        ({"scheduler": "pbt", "searcher": "optuna"}, r"^searcher optuna: pbt changes hyperparameters itself"),
    ],
)
def test_sweep_that_cannot_be_is_refused_before_its_folder_is_made(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=said):
        declared(**changes).tuner(tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_sweep_is_read_as_it_was_declared(tmp_path: Path) -> None:
    sweep = declared(budget=Budget(seconds=60.0), searcher="optuna", recipe=recipe("dqn", {"network": {"hidden": [4]}}))
    (tmp_path / DECLARATION).write_text(json.dumps(sweep.to_json()))
    assert Sweep.read(tmp_path) == sweep


@pytest.mark.parametrize("text", ['{"environment"', "[]", '{"environment": {}}', "\udcff"], ids=["cut", "list", "incomplete", "bytes"])
def test_damaged_sweep_is_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / DECLARATION).write_text(text, errors="surrogateescape")
    with pytest.raises(TrainingError, match=rf"^{tmp_path}/{DECLARATION}: a damaged sweep, expected one as `mlcb sweep` wrote it: [^\n]*$"):
        Sweep.read(tmp_path)


def test_folder_of_a_sweep_or_a_run_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "last").mkdir()
    with pytest.raises(TrainingError, match="holds a sweep or a run already, expected --resume to go on with a sweep, or another folder"):
        declared().tuner(tmp_path)
    with pytest.raises(TrainingError, match="no sweep to resume, expected a folder that `mlcb sweep` wrote"):
        Sweep.read(tmp_path)


def test_best_checkpoint_of_all_trials_is_linked(tmp_path: Path) -> None:
    found = []
    for name, ratio in (("b", 0.9), ("a", 0.95), ("c", None)):
        checkpoint = tmp_path / name / "checkpoint_000001"
        checkpoint.mkdir(parents=True)
        curve = [] if ratio is None else [(1, 10, 1.0), (2, 20, ratio)]
        found.append(Outcome(name, {"lr": 0.1, "network.hidden": "[4]"}, curve, (ratio, checkpoint) if ratio else None, "" if curve else "killed"))
    assert link_best(tmp_path, found) == tmp_path / "b" / "checkpoint_000001"
    assert (tmp_path / "best").resolve() == tmp_path / "b" / "checkpoint_000001"
    assert table(found).row_count == 3
    draw(tmp_path / "sweep.png", found)
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")


def test_outcomes_of_a_sweep_are_read_from_text_alone(tmp_path: Path) -> None:
    trial, ran = tmp_path / "trial_1", tmp_path / "ran"
    (trial / "checkpoint_000001").mkdir(parents=True)
    (trial / "params.json").write_text('{"lr": 0.5}')
    (trial / "checkpoint_000001" / "run.json").write_text('{"progress": {"curve": [{"ratio": 0.8}]}}')
    told = {"trial_id": "1", "updates": 2, "steps": 20, "ratio": 0.9}
    rows = [told | {"training_iteration": 1, "ratio": 2.0}, told | {"training_iteration": 1, "updates": 1}, told | {"training_iteration": 2}]
    (trial / "result.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows) + '{"cut o')
    state = {"_type": "CLOUDPICKLE_FALLBACK", "value": pickle.dumps(Code(ran)).hex()}
    (tmp_path / "experiment_state-2026-01-01_00-00-00.json").write_text(json.dumps({"trial_data": state}))
    (trial / "error.pkl").write_bytes(pickle.dumps(Code(ran)))
    (trial / "error.txt").write_text("Traceback\n\nout of memory\n")
    (found,) = read_outcomes(tmp_path)
    assert found == Outcome("1", {"lr": 0.5}, [(1, 20, 0.9), (2, 20, 0.9)], (0.8, trial / "checkpoint_000001"), "out of memory")
    assert not ran.exists()


@pytest.mark.parametrize("row", ["{}", '{"training_iteration": 1, "updates": [], "steps": 1, "ratio": 1}'])
def test_damaged_trial_is_one_line(row: str, tmp_path: Path) -> None:
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "params.json").write_text("{}")
    (tmp_path / "trial" / "result.json").write_text(f"{row}\n")
    with pytest.raises(TrainingError, match=r"^[^\n]*/result\.json: a damaged trial, expected one as `mlcb sweep` wrote it: [^\n]*$"):
        read_outcomes(tmp_path)


@pytest.mark.parametrize("name", ["params.json", "result.json", "error.txt"])
def test_fifo_of_a_trial_is_not_waited_for(name: str, tmp_path: Path) -> None:
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "params.json").write_text("{}")
    (tmp_path / "trial" / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "trial" / name)
    with pytest.raises(OSError, match=rf"no regular file, expected one: '{tmp_path}/trial/{name}'$"):
        read_outcomes(tmp_path)


def test_trials_that_run_are_told(tmp_path: Path) -> None:
    status = Status(declared(budget=Budget(iterations=9)), tmp_path)
    assert status() == "0:00:00: trials begin"
    for trial, updates in {"a": "3", "b": "1", "c": None}.items():
        (tmp_path / trial).mkdir()
        if updates:
            (tmp_path / trial / UPDATES).write_text(updates)
    assert status() == "0:00:00: 2 trials run, updates 1 of 9, 3 of 9"


def test_hyperparameters_of_a_trial_without_a_validation_are_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "params.json").write_text('{"lr": 0.5}')
    assert drawn(tmp_path) == {"lr": 0.5}
    assert drawn(tmp_path / "not_begun") == {}


def test_folders_of_killed_sessions_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    dead = subprocess.Popen(["true"])
    dead.wait()
    for name in (f"{PREFIX}{dead.pid}-x", f"{PREFIX}{os.getpid()}-x", "others"):
        (tmp_path / name).mkdir()
    remove_left_folders()
    assert {folder.name for folder in tmp_path.iterdir()} == {f"{PREFIX}{os.getpid()}-x", "others"}


def command(output: Path, *options: str) -> list[str]:
    """A sweep of tiny trials."""
    small = ["--set", "num_envs=2", "--set", "steps_per_iteration=32", "--set", "statistics_episodes=2", "--checkpoint-every", "1"]
    return [*mlcb("sweep", "posetrl"), "--programs", PROGRAM, "--validation", PROGRAM, "--output", str(output), *small, *options]


def validation(lines: IO[str]) -> str:
    """The next line on a validation; empty where there is none."""
    return next((line for line in iter(lines.readline, "") if line.startswith("trial ")), "")


def best_ratio(output: Path) -> float:
    """The best ratio of the run that a sweep names."""
    return float(json.loads((output / "best" / "run.json").read_text())["progress"]["curve"][-1]["ratio"])


def test_killed_sweep_goes_on_and_its_best_is_exported(tmp_path: Path) -> None:
    output = tmp_path / "sweep"
    options = ["--trials", "2", "--iterations", "2", "--scheduler", "none", "--search", "lr=log(1e-4,1e-2)", "--search", "network.hidden=[[8],[16]]"]
    with subprocess.Popen(command(output, *options), stdout=subprocess.PIPE, text=True, start_new_session=True) as begun:
        assert begun.stdout is not None
        assert begun.stdout.readline() == "PosetRL-v0 ppo: 2 trials, a line for each of their validations\n"
        assert validation(begun.stdout)
        begun.send_signal(signal.SIGKILL)
    done = subprocess.run(command(output, *options, "--resume"), capture_output=True, text=True, timeout=SECONDS, check=True)
    assert f"best checkpoint: {output}" in done.stdout
    analysis = ExperimentAnalysis(str(output))
    assert [result["updates"] for result in analysis.results.values()] == [2, 2]
    assert updates_of_running(output) == []
    assert best_ratio(output) == pytest.approx(min(frame["ratio"].min() for frame in analysis.trial_dataframes.values()))
    subprocess.run([*mlcb("export"), str(output / "best"), str(tmp_path / "policy")], timeout=SECONDS, check=True, capture_output=True)
    assert OnnxPolicy(tmp_path / "policy").env_arguments["max_steps"] == 15


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["asha", "pbt"])
def test_scheduler_ends_or_changes_trials(scheduler: str, tmp_path: Path) -> None:
    output = tmp_path / "sweep"
    options = ["--trials", "4", "--iterations", "6", "--scheduler", scheduler, "--search", "lr=log(1e-6,1e-1)"]
    done = subprocess.run(command(output, *options), capture_output=True, text=True, timeout=2 * SECONDS, check=True)
    assert f"best checkpoint: {output}" in done.stdout
    analysis = ExperimentAnalysis(str(output))
    updates = [result["updates"] for result in analysis.results.values()]
    assert len(updates) == 4
    assert (min(updates) < 6) == (scheduler == "asha")
    assert all(1e-6 <= trial["lr"] <= 1e-1 for trial in analysis.get_all_configs().values())
    assert best_ratio(output) == pytest.approx(min(frame["ratio"].min() for frame in analysis.trial_dataframes.values()))


@pytest.mark.slow
def test_interrupted_sweep_tells_what_it_has_and_how_to_go_on(tmp_path: Path) -> None:
    output = tmp_path / "sweep"
    options = ["--trials", str(2 + (os.cpu_count() or 1)), "--iterations", "20", "--scheduler", "none"]
    with subprocess.Popen(command(output, *options), stdout=subprocess.PIPE, text=True, start_new_session=True) as begun:
        assert begun.stdout is not None
        assert "trials, a line for each" in begun.stdout.readline()
        for _ in range(1 + (os.cpu_count() or 1)):  # the last one is of a trial that has a checkpoint
            assert validation(begun.stdout)
        begun.send_signal(signal.SIGINT)
        told = begun.communicate(timeout=SECONDS)[0]
    assert begun.returncode == 130
    assert "none yet" in told
    assert f"`mlcb sweep posetrl --output {output} --resume` goes on" in told
    assert (output / "best" / "run.json").exists()
    left = [process for process in psutil.process_iter() if belongs_to(process, begun.pid)]
    assert psutil.wait_procs(left, timeout=20)[1] == []
    assert not list(Path(tempfile.gettempdir()).glob(f"{PREFIX}{begun.pid}-*"))


def belongs_to(process: psutil.Process, session: int) -> bool:
    """Whether a process was started by the leader of a session, or those that it started, in a session of their own or in its."""
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError):
        return (process.status() != psutil.STATUS_ZOMBIE and os.getsid(process.pid) == session) or f"{PREFIX}{session}-" in " ".join(
            process.cmdline()
        )
    return False


def mlcb(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mlcb_gym", *arguments]
