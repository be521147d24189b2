# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Learning from recorded decisions."""

import io
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing
from rich.console import Console

from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import TrainingError
from mlcb_gym.export.export import export_policy
from mlcb_gym.rollout.log import record
from mlcb_gym.rollout.network_policy import advice
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.first_weights import network_of
from mlcb_gym.training.recorded import RecordedDecisions
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.trainer import Trainer
from mlcb_gym.training.training_env import Environment

ACTIONS = ["function(mem2reg)", "function(sroa,early-cse)", "default<Oz>", "stop"]
TAKEN = [0, 2, 3]
PROGRAM = "embedded/train/fft"
ENVIRONMENT = Environment("PosetRL-v0", {"programs": [PROGRAM], "actions": ACTIONS})
SMALL = {"statistics_episodes": 2, "num_envs": 1, "steps_per_iteration": 512, "batch": 64, "network": {"hidden": [32]}}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two equal episodes of three decisions."""
    path = tmp_path_factory.mktemp("log") / "episodes.log"
    with closing(PosetRLEnv(programs=PROGRAM, actions=ACTIONS)) as env:
        steps = iter(TAKEN * 2)
        record(env, resolve(PROGRAM), lambda _: next(steps), path, episodes=2)
    return path


@pytest.mark.parametrize("algorithm", ["bc", "marwil"])
def test_recorded_decisions_are_learnt(algorithm: str, log: Path, tmp_path: Path) -> None:
    chosen = recipe(algorithm, SMALL | {"episodes": [str(log)]})
    train(ENVIRONMENT, recipe=chosen, validation=[PROGRAM], output=tmp_path / "run", budget=Budget(iterations=4, validate_every=4))
    progress = read_run(tmp_path / "run" / "best")["progress"]
    with closing(PosetRLEnv(programs=PROGRAM, actions=ACTIONS)) as env:
        env.reset()
        for action in TAKEN:
            env.step(action)
        assert progress["curve"][-1]["ratio"] == pytest.approx(env.ratio)
    assert progress["steps"] == 4 * 512


def test_decisions_come_in_passes_with_the_rewards_to_their_episodes_end(log: Path) -> None:
    with closing(PosetRLEnv(programs=PROGRAM, actions=ACTIONS)) as env:
        decisions = RecordedDecisions([str(log), str(log)], env, seed=1)
        assert len(decisions) == 12
        batches = [decisions.sample(8) for _ in range(3)]  # two passes
        assert [batch.env_steps() for batch in batches] == [8, 8, 8]
        rows = [batch["default_policy"] for batch in batches]
        actions, returns = (np.concatenate([row[name] for row in rows]) for name in (Columns.ACTIONS, Postprocessing.VALUE_TARGETS))
        assert sorted(actions) == sorted(TAKEN * 8)
        env.reset()
        rewards = [env.step(action)[1] for action in TAKEN]
    expected = dict(zip(TAKEN, np.cumsum(rewards[::-1])[::-1], strict=True))
    summed = np.array([expected[action] for action in actions])
    assert returns == pytest.approx((summed - summed.mean()) / summed.std(), abs=1e-4)


@pytest.mark.parametrize(("algorithm", "first"), [("bc", "stop"), ("marwil", "function(mem2reg)")])
def test_marwil_prefers_what_turned_out_well_and_cloning_what_is_frequent(algorithm: str, first: str, tmp_path: Path) -> None:
    taken = iter([ACTIONS.index("stop")] * 2 + TAKEN)
    with closing(PosetRLEnv(programs=PROGRAM, actions=ACTIONS)) as env:
        record(env, resolve(PROGRAM), lambda _: next(taken), tmp_path / "episodes.log", episodes=3)
    chosen = recipe(algorithm, SMALL | {"episodes": [str(tmp_path / "episodes.log")], "steps_per_iteration": 4096})
    trainer = Trainer.begin(ENVIRONMENT, chosen, [PROGRAM])
    with closing(trainer):
        for _ in range(3):
            trainer.update()
        env = trainer.env.unwrapped.envs[0]
        env.reset(options={"program": PROGRAM})
        network = network_of(trainer.algorithm)
        assert ACTIONS[int(advice(network.eval(), env.observation))] == first


def test_run_goes_on_from_another_folder(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(log.parent)
    chosen = recipe("bc", SMALL | {"episodes": [log.name]})
    arguments: dict[str, Any] = {"recipe": chosen, "validation": [PROGRAM], "output": tmp_path / "run", "console": Console(file=io.StringIO())}
    train(ENVIRONMENT, **arguments, budget=Budget(iterations=1, validate_every=1))
    monkeypatch.chdir(tmp_path)
    train(ENVIRONMENT, **arguments, budget=Budget(iterations=2, validate_every=1), resume=True)
    saved = read_run(tmp_path / "run" / "last")
    assert saved["progress"]["iteration"] == 2
    assert len(saved["provenance"]["files"]) == 16
    assert (export_policy(tmp_path / "run" / "best", tmp_path / "policy") / "policy.json").exists()


@pytest.mark.parametrize("beta", [0, 2])
def test_exponent_that_rllib_refuses_is_named(beta: float, log: Path) -> None:
    with pytest.raises(TrainingError, match=rf"^beta={beta}: expected more than 0, and 1 at most$"):
        recipe("marwil", {"episodes": [str(log)], "beta": beta}).config(ENVIRONMENT)


def test_log_of_another_task_is_named(log: Path) -> None:
    with (
        closing(PosetRLEnv(programs=PROGRAM, actions=[*ACTIONS, "function(gvn)"])) as env,
        pytest.raises(TrainingError, match=r"episodes.log: action_mask has 4 elements, expected 5, as posetrl is bound$"),
    ):
        RecordedDecisions([str(log)], env, seed=1)


def test_file_that_is_no_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "no.log").write_text("no log\n")
    with closing(PosetRLEnv(programs=PROGRAM, actions=ACTIONS)) as env, pytest.raises(TrainingError, match=r"no\.log: "):
        RecordedDecisions([str(tmp_path / "no.log")], env, seed=1)


@pytest.mark.parametrize("episodes", [[], ["missing.log"]])
def test_missing_logs_are_named_before_anything_starts(episodes: list[str]) -> None:
    with pytest.raises(TrainingError, match=r"^episodes=\[.*\]: expected logs, as `mlcb log record` writes them$"):
        recipe("bc", {"episodes": episodes}).config(ENVIRONMENT)
