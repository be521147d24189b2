# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainings whose episodes are sampled by other processes."""

import io
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mlcb_gym.errors import TrainingError
from mlcb_gym.export.export import export_policy
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.ray_session import start_ray
from mlcb_gym.training.registry import algorithms, recipe_class
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.trainer import Trainer
from mlcb_gym.training.training_env import Environment

PROGRAM = "embedded/train/fft"
ENVIRONMENT = Environment("PosetRL-v0", {"programs": [PROGRAM], "max_steps": 5})
SMALL = {"steps_per_iteration": 64, "num_envs": 2, "num_env_runners": 1, "statistics_episodes": 2}
ASYNCHRONOUS = [name for name in algorithms() if recipe_class(name)().num_env_runners]


@pytest.mark.parametrize("algorithm", ["ppo", *(pytest.param(name, marks=pytest.mark.slow) for name in ASYNCHRONOUS)])
def test_run_is_sampled_by_another_process_and_resumed(algorithm: str, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"recipe": recipe(algorithm, SMALL), "validation": [PROGRAM], "output": tmp_path / "run"}
    shown = Console(file=io.StringIO())
    train(ENVIRONMENT, **arguments, budget=Budget(iterations=2, validate_every=1), console=shown)
    before = read_run(tmp_path / "run" / "last")["progress"]
    assert before["steps"] >= 128
    train(ENVIRONMENT, **arguments, budget=Budget(iterations=3, validate_every=1), console=shown, resume=True)
    after = read_run(tmp_path / "run" / "last")["progress"]
    assert (after["iteration"], after["curve"][:2]) == (3, before["curve"][:2])
    assert (export_policy(tmp_path / "run" / "best", tmp_path / "policy") / "policy.json").exists()


@pytest.mark.slow
def test_killed_runner_is_replaced() -> None:
    start_ray(2)
    trainer = Trainer.begin(ENVIRONMENT, recipe("ppo", SMALL), [PROGRAM])
    try:
        trainer.update()
        (runner,) = trainer.algorithm.env_runner_group.foreach_env_runner(lambda runner: os.getpid(), local_env_runner=False)
        os.kill(runner, signal.SIGKILL)
        before = trainer.steps
        trainer.update()
        assert trainer.steps > before
        (other,) = trainer.algorithm.env_runner_group.foreach_env_runner(lambda runner: os.getpid(), local_env_runner=False)
        assert other != runner
    finally:
        trainer.close()


@pytest.mark.parametrize("algorithm", ASYNCHRONOUS)
def test_asynchronous_algorithm_asks_for_another_process(algorithm: str) -> None:
    with pytest.raises(TrainingError, match=rf"^num_env_runners=0: {algorithm} learns while others sample, expected 1 or more$"):
        recipe(algorithm, {"num_env_runners": 0}).config(ENVIRONMENT)


def test_evolution_strategies_play_in_this_process() -> None:
    with pytest.raises(TrainingError, match=r"^num_env_runners=2: es plays in this process, expected 0$"):
        recipe("es", {"num_env_runners": 2}).config(ENVIRONMENT)
