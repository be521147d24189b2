# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training or a sweep that cannot be is refused before Ray starts, before anything is learnt, and without a folder."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mlcb_gym.cli.main import app
from mlcb_gym.errors import MlcbError

PROGRAMS = ["--programs", "embedded/train/fft", "--validation", "embedded/validation/huffman"]
COMMANDS = {
    "train posetrl --algo bc": "episodes=[]: expected logs, as `mlcb log record` writes them",
    "train posetrl --algo es --runners 1": "num_env_runners=1",
    "train posetrl --algo impala --runners 0": "num_env_runners=0: impala learns while others sample, expected 1 or more",
    "train posetrl --set lrr=1": "lrr: ppo has no such hyperparameter, expected one of",
    "train posetrl --set lr=fast": 'lr="fast": expected float',
    "train loop_distribution --algo dqn --clone": "asks several agents, which dqn does not learn, expected algorithm",
    "train posetrl --env session=grpc://127.0.0.1:1,worker:": "grpc://127.0.0.1:1",
    "train posetrl --sampling size --algo es": "es does not draw its programs one by one",
    "sweep posetrl --search lrr=log(1e-5,1e-3)": "lrr: ppo has no such hyperparameter, expected one of",
    "sweep posetrl --search lr=log(1e-5)": "lr=log(1e-5)",
    "sweep posetrl --search lr=[]": "lr=[]",
    "sweep posetrl --scheduler pbt --search network.hidden=[[64],[256]]": "network.hidden",
    "sweep posetrl --scheduler hyperband": "scheduler hyperband: expected one of asha, pbt, none",
    "sweep posetrl --iterations 0": "expected time for one update or more",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_is_refused_before_anything_starts(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*arguments: object, **named: object) -> None:
        pytest.fail("Ray is started")

    monkeypatch.setattr("mlcb_gym.training.ray_session.ray.init", started)
    error = refusal([*command.split(), *PROGRAMS, "-o", str(tmp_path / "run")])
    assert COMMANDS[command] in error
    assert not (tmp_path / "run").exists()


def test_folder_is_tried_before_first_weights_are_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcb_gym.training.imitation.behavioural_cloning.clone_heuristic", lambda *_: pytest.fail("weights are learnt"))
    (tmp_path / "file").touch()
    error = refusal(["train", "inliner", "--clone", *PROGRAMS, "-o", str(tmp_path / "file" / "run")])
    assert error == f"{tmp_path}/file/run: Not a directory, expected a folder that can be written to"


def refusal(arguments: list[str]) -> str:
    """The error of a command, of one line."""
    done: Any = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, MlcbError), (done.exception, done.output)
    assert "\n" not in str(done.exception)
    return str(done.exception)
