# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The base of recipes that learn from recorded decisions, and sample nothing."""

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.marwil import MARWIL, MARWILConfig

from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.errors import TrainingError
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.recorded import RecordedDecisions
from mlcb_gym.training.training_env import Environment, training_env


class OfflineAlgorithm(MARWIL):
    """RLlib's algorithm, on decisions that are all in memory; an iteration learns from ``steps_per_iteration`` of them, which count as steps."""

    def setup(self, config: AlgorithmConfig) -> None:
        super().setup(config)
        recipe: Offline = self.config.recipe
        self.offline_data = RecordedDecisions(recipe.episodes, training_env(self).unwrapped.envs[0], recipe.seed, rewarded=recipe.rewarded)

    def training_step(self) -> None:
        recipe: Offline = self.config.recipe
        for _ in range(-(-recipe.steps_per_iteration // recipe.batch)):
            super().training_step()
            training_env(self).sampled.steps += recipe.batch
        self.env_runner_group.sync_weights(from_worker_or_learner_group=self.learner_group)


class OfflineConfig(MARWILConfig):
    """RLlib's config of the algorithm, with the recipe for all else."""

    recipe: "Offline"

    def __init__(self) -> None:
        super().__init__(OfflineAlgorithm)
        self._is_online = True  # it has environments all the same: they are validated on, and say what is observed


@dataclass(frozen=True, kw_only=True)
class Offline(Recipe):
    """Learning from recorded decisions. Programs of the environment are validated on, and standardise the features.

    Args:
        episodes: logs, as `mlcb log record` writes them.
        batch: decisions of one gradient step.
        grad_clip: the norm that gradients are clipped to.
    """

    draws: ClassVar[bool] = False
    rewarded: ClassVar[bool] = False
    """Whether rewards are learnt from, which logs then must have."""
    space: ClassVar[Mapping[str, str]] = {"lr": "log(1e-5,1e-2)", "network.hidden": "[[64],[128,128],[256,256]]"}

    episodes: tuple[str, ...] = ()
    batch: int = 256
    lr: float = 1e-3
    grad_clip: float = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "episodes", tuple(str(Path(log).absolute()) for log in self.episodes))  # trials have folders of their own

    @property
    def files(self) -> tuple[str, ...]:
        return self.episodes

    def config(self, environment: Environment) -> AlgorithmConfig:
        if self.num_env_runners:
            raise TrainingError(f"num_env_runners={self.num_env_runners}: {self.algorithm} samples nothing, expected 0")
        missing = [log for log in self.episodes if not Path(log).is_file()]
        if missing or not self.episodes:
            raise TrainingError(f"episodes={json.dumps(missing)}: expected logs, as `mlcb log record` writes them")
        config: Any = self._common(OfflineConfig(), environment, MaskedPolicyGradient)
        config.recipe = self
        config.offline_data(dataset_num_iters_per_learner=1)
        config.training(lr=self.lr, grad_clip=self.grad_clip, train_batch_size_per_learner=self.batch, **self._loss)
        return config

    @property
    @abstractmethod
    def _loss(self) -> dict[str, Any]:
        """The loss, as RLlib's ``training`` takes it."""
