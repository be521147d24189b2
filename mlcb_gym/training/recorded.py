# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded decisions as batches, for algorithms that learn without sampling."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch

from mlcb_gym._native import NativeError
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import TrainingError
from mlcb_gym.rollout.log import to_arrays
from mlcb_gym.spec import MASK


class RecordedDecisions:
    """The decisions of logs, in the place of RLlib's ``OfflineData``: drawn without replacement, in one shuffled pass after another.

    Args:
        logs: files as `mlcb log record` writes them.
        env: the environment that the decisions are of.
        seed: the seed of the order.
        rewarded: whether the logs must have rewards.

    Raises:
        TrainingError: a log cannot be read, or is of another task.
    """

    iter_batches_kwargs: ClassVar[dict[str, Any]] = {}

    def __init__(self, logs: Sequence[str], env: CompilerEnv, seed: int, *, rewarded: bool = False) -> None:
        columns = [_columns(Path(log), env, rewarded=rewarded) for log in logs]
        self._observations = {name: np.concatenate([part[name] for part, *_ in columns]) for name in columns[0][0]}
        self._actions, returns = (np.concatenate([column[i] for column in columns]) for i in (1, 2))
        self._returns = (returns - returns.mean()) / (returns.std() or 1.0)
        self._rng = np.random.default_rng(seed)
        self._order = np.empty(0, int)

    def __len__(self) -> int:
        return len(self._actions)

    def sample(self, num_samples: int, num_shards: int = 0, return_iterator: bool = False) -> MultiAgentBatch:
        """Return the next decisions: observations, actions, and the standardised sum of the rewards to the end of the episode."""
        while len(self._order) < num_samples:
            self._order = np.concatenate([self._order, self._rng.permutation(len(self))])
        rows, self._order = self._order[:num_samples], self._order[num_samples:]
        batch = {
            Columns.OBS: {name: column[rows] for name, column in self._observations.items()},
            Columns.ACTIONS: self._actions[rows],
            Postprocessing.VALUE_TARGETS: self._returns[rows],
        }
        return MultiAgentBatch({DEFAULT_MODULE_ID: SampleBatch(batch)}, env_steps=len(rows))


def _columns(log: Path, env: CompilerEnv, *, rewarded: bool) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Return the observations of a log, its decisions as actions, and their returns."""
    agent, task = env.task_spec.agents[0], env.task_spec.task
    try:
        arrays = to_arrays(log)
    except NativeError as error:
        raise TrainingError(str(error)) from error
    count, decided = len(arrays["context"]), agent.advice["name"]
    for name in (decided, *env.observation_space):
        if (name not in arrays and name != MASK) or not count:
            raise TrainingError(f"{log}: no decision of {task} with {name}, expected a log of {task} as it is bound")
    if rewarded and "score" not in arrays:
        raise TrainingError(f"{log}: has no rewards, expected a log as `mlcb log record` writes it")
    observations = {}
    for name, space in env.observation_space.items():
        shape = space.shape or ()
        if name == MASK and name not in arrays:  # as in LLVM's own logs
            observations[name] = np.ones((count, *shape), space.dtype)
            continue
        column = arrays[name]
        if column[0].size != prod(shape):
            raise TrainingError(f"{log}: {name} has {column[0].size} elements, expected {prod(shape)}, as {task} is bound")
        observations[name] = column.reshape(count, *shape).astype(space.dtype)
    actions = np.array([env.action(advice) for advice in arrays[decided].ravel().tolist()])
    if MASK in observations and not observations[MASK][np.arange(count), actions].all():
        raise TrainingError(f"{log}: has a decision that its mask forbids, expected a log of {task} as it is bound")
    return observations, actions, _returns(arrays)


def _returns(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return the sum of the rewards from each decision to the end of its episode; 0 where none are recorded."""
    returns = np.zeros(len(arrays["context"]), np.float32)
    if "score" not in arrays:
        return returns
    scores, total, context = arrays["score"].reshape(len(returns), -1)[:, 0], 0.0, None
    for i in range(len(returns) - 1, -1, -1):
        total = scores[i] + (total if arrays["context"][i] == context else 0.0)
        returns[i], context = total, arrays["context"][i]
    return returns
