# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run that is made again: from the same seed the same weights, and from its folder the same run."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from mlcb_gym.cli.training_options import repeated
from mlcb_gym.errors import TrainingError
from mlcb_gym.export.checkpoint import load_network
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.provenance import differences
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment

PROGRAMS = ["embedded/train/fft", "embedded/train/sha256"]
ENVIRONMENT = Environment("PosetRL-v0", {"programs": PROGRAMS, "max_steps": 5})
COMMON: dict[str, Any] = {"num_envs": 4, "steps_per_iteration": 64, "statistics_episodes": 4}
OWN: dict[str, dict[str, Any]] = {
    "ppo": {},
    "mlgo": {},
    "dqn": {"replay": {"warmup": 32}, "batch": 16},
    "es": {"pairs": 2, "programs": 2},
}


def weights(output: Path, algorithm: str) -> dict[str, torch.Tensor]:
    """The weights after two updates."""
    made = recipe(algorithm, COMMON | OWN[algorithm])
    train(ENVIRONMENT, recipe=made, validation=PROGRAMS, output=output, budget=Budget(iterations=2), console=Console(file=io.StringIO()))
    return dict(load_network(output / "last").state_dict())


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", OWN)
def test_same_seed_gives_the_same_weights(algorithm: str, tmp_path: Path) -> None:
    one, other = (weights(tmp_path / name, algorithm) for name in ("one", "other"))
    assert [name for name, value in one.items() if not torch.equal(value, other[name])] == []


def test_run_is_made_again_from_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = weights(tmp_path / "one", "ppo")
    again, budget = repeated("posetrl", tmp_path / "one")
    assert capsys.readouterr().err == ""
    assert (again.environment, again.recipe, again.validation) == (ENVIRONMENT, recipe("ppo", COMMON), PROGRAMS)
    assert (budget.iterations, budget.validate_every) == (2, 10)
    train(again.environment, recipe=again.recipe, validation=again.validation, output=tmp_path / "other", budget=budget, weights=again.weights())
    assert all(torch.equal(value, before[name]) for name, value in load_network(tmp_path / "other" / "last").state_dict().items())


def test_what_a_run_was_made_with_otherwise_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights(tmp_path, "ppo")
    file = tmp_path / "last" / "run.json"
    saved = read_run(tmp_path / "last")
    assert {"mlcb_gym", "llvm", "python", "ray", "torch", "programs", "validation"} <= set(saved["provenance"])
    saved["provenance"] |= {"llvm": "22.0.1"}
    saved["environment"]["arguments"] |= {"session": "worker:?sandbox=none", "compiler": "stock"}
    file.write_text(json.dumps(saved))
    again, _ = repeated("posetrl", tmp_path)
    said = capsys.readouterr().err
    assert f"{tmp_path}: llvm was 22.0.1, is 22." in said
    assert f"{tmp_path}: without its session='worker:?sandbox=none', compiler='stock', by workers of this machine" in said
    assert again.environment == ENVIRONMENT
    with pytest.raises(TrainingError, match=r"a run of PosetRL-v0, expected one of Inliner-v0$"):
        repeated("inliner", tmp_path)


def test_folder_without_a_run_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no run, expected a folder that `mlcb train` wrote"):
        repeated("posetrl", tmp_path)


def test_differences_are_named() -> None:
    assert list(differences({"ray": "1", "torch": "2"}, {"ray": "1"})) == ["torch was 2, is missing"]
