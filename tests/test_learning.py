# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Short trainings, about a minute each on two cores: one of every task, and of those that learn something soon, whether they do."""

from pathlib import Path

import pytest

import mlcb_gym
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs import env_class
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment

PROGRAMS = {"loop_distribution": ["loops/train/mixed_scan_between", "loops/train/coupled_pair"]}
"""The training programs of a task, where they are others than the following."""
EMBEDDED = ["embedded/train/fft", "embedded/train/sha256"]
FITTING = {
    "posetrl": {"ppo": 10, "dqn": 8, "mlgo": 3, "es": 30},
    "inliner": {"mlgo": 9, "ppo": 50, "es": 60},
    "eviction": {"es": 80},
    "priority": {"es": 60},
    "loop_distribution": {"es": 60, "ppo": 3},
    "function_size": {"ppo": 8},
    "function_posetrl": {"ppo": 8},
}
"""The algorithms that learn something of a task soon, and in how many updates; others take longer, or begin as LLVM does and leave it at first."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "algorithm", "updates"), [(task, algorithm, updates) for task, fitting in FITTING.items() for algorithm, updates in fitting.items()]
)
def test_a_short_training_improves_the_last_checkpoint(task: str, algorithm: str, updates: int, tmp_path: Path) -> None:
    programs = PROGRAMS.get(task, EMBEDDED)
    environment, budget = Environment(mlcb_gym.TASKS[task], {"programs": programs}), Budget(iterations=updates, validate_every=10_000)
    train(environment, recipe=recipe(algorithm), validation=resolve(programs), output=tmp_path / "run", budget=budget)
    first, *_, last = read_run(tmp_path / "run" / "last")["progress"]["curve"]
    assert last["ratio"] < first["ratio"]


@pytest.mark.slow
@pytest.mark.parametrize("task", mlcb_gym.TASKS)
def test_every_task_is_trained_by_its_own_recipe(task: str, tmp_path: Path) -> None:
    programs = PROGRAMS.get(task, EMBEDDED)
    environment = Environment(mlcb_gym.TASKS[task], {"programs": programs})
    chosen = recipe(env_class(task).record.recipe, {"num_envs": 2})
    train(environment, recipe=chosen, validation=resolve(programs), output=tmp_path / "run", budget=Budget(iterations=1))
    assert read_run(tmp_path / "run" / "last")["progress"]["iteration"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ppo", "appo"])
def test_policy_gradients_train_four_agents(algorithm: str, tmp_path: Path) -> None:
    environment = Environment("RL4ReAl-v0", {"programs": EMBEDDED})
    chosen = recipe(algorithm, {"num_envs": 2, "steps_per_iteration": 512})
    train(environment, recipe=chosen, validation=resolve(EMBEDDED), output=tmp_path / "run", budget=Budget(iterations=1))
    assert read_run(tmp_path / "run" / "last")["progress"]["iteration"] == 1
