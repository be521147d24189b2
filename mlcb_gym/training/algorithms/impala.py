# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IMPALA (Espeholt et al., 2018): sampling goes on beside learning, whose returns are corrected by V-trace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ray.rllib.algorithms.impala import IMPALAConfig

from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.errors import TrainingError
from mlcb_gym.training.actor_critic import ActorCritic
from mlcb_gym.training.training_env import Environment


@dataclass(frozen=True, kw_only=True)
class Impala(ActorCritic):
    """IMPALA; its processes sample with a policy of some updates ago. It takes one or more of them (``--runners``).

    ```sh
    mlcb train posetrl --algo impala --runners 2 -o runs/impala
    ```

    Args:
        batch: steps of one gradient step.
        fragment: steps of every environment that are sampled at a time.
    """

    algorithm: ClassVar[str] = "impala"
    space: ClassVar[Mapping[str, str]] = {**ActorCritic.space, "batch": "[128,256,512]"}

    num_env_runners: int = 1
    batch: int = 256
    fragment: int = 16
    grad_clip: float = 10.0

    def config(self, environment: Environment) -> IMPALAConfig:
        return self._asynchronous(IMPALAConfig(), environment, MaskedPolicyGradient)

    def _asynchronous(self, config: IMPALAConfig, environment: Environment, module: type) -> IMPALAConfig:
        if not self.num_env_runners:
            raise TrainingError(f"num_env_runners=0: {self.algorithm} learns while others sample, expected 1 or more")
        config = self._common(config, environment, module)
        config.env_runners(rollout_fragment_length=self.fragment)
        config.learners(num_learners=0)  # in this process, where weights are set and saved
        config.reporting(min_sample_timesteps_per_iteration=self.steps_per_iteration)
        return config.training(train_batch_size_per_learner=self.batch, **self._loss)
