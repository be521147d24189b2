# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Learning from recorded decisions."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import ray
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing

from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import TrainingError
from mlcb_gym.rollout.log import record
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.recorded import RecordedDecisions
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment

ACTIONS = ["function(mem2reg)", "function(sroa,early-cse)", "default<Oz>", "stop"]
TAKEN = [0, 2, 3]
PROGRAM = "embedded/train/fft"
ENVIRONMENT = Environment("PosetRL-v0", {"programs": [PROGRAM], "actions": ACTIONS})
SMALL = {"statistics_episodes": 2, "num_envs": 1, "steps_per_iteration": 512, "batch": 64, "network": {"hidden": [32]}}

pytestmark = pytest.mark.filterwarnings("ignore:.*Overriding environment rllib")  # RLlib registers every environment under one id


@pytest.fixture(scope="module", autouse=True)
def ray_ends() -> Iterator[None]:
    yield
    ray.shutdown()


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
        batches = [decisions.sample(8) for _ in range(2)]
        assert [batch.env_steps() for batch in batches] == [8, 4]
        rows = [batch["default_policy"] for batch in batches]
        actions, returns = (np.concatenate([row[name] for row in rows]) for name in (Columns.ACTIONS, Postprocessing.VALUE_TARGETS))
        assert sorted(actions) == sorted(TAKEN * 4)
        env.reset()
        rewards = [env.step(action)[1] for action in TAKEN]
    expected = dict(zip(TAKEN, np.cumsum(rewards[::-1])[::-1], strict=True))
    assert returns == pytest.approx([expected[action] for action in actions], abs=1e-6)


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
