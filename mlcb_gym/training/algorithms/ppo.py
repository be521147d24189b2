# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proximal policy optimization (Schulman et al., 2017)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ray.rllib.algorithms.ppo import PPOConfig

from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.training.actor_critic import ActorCritic
from mlcb_gym.training.training_env import Environment


@dataclass(frozen=True, kw_only=True)
class Ppo(ActorCritic):
    """PPO without a KL penalty. This process samples, then learns.

    ```sh
    mlcb train posetrl --algo ppo --programs embedded/train --minutes 5 -o runs/ppo
    ```

    Args:
        gae_lambda: the lambda of generalised advantage estimation.
        clip: how far the ratio of new to old probabilities may leave 1.
        epochs: passes over the steps of an iteration.
        minibatch: steps of one gradient step.
    """

    algorithm: ClassVar[str] = "ppo"
    space: ClassVar[Mapping[str, str]] = {**ActorCritic.space, "gae_lambda": "uniform(0.9,1)"}

    gae_lambda: float = 0.95
    clip: float = 0.2
    epochs: int = 4
    minibatch: int = 256

    def config(self, environment: Environment) -> PPOConfig:
        return self._common(PPOConfig(), environment, MaskedPolicyGradient).training(
            lambda_=self.gae_lambda,
            clip_param=self.clip,
            use_kl_loss=False,
            vf_clip_param=float("inf"),
            train_batch_size_per_learner=self.steps_per_iteration,
            minibatch_size=min(self.minibatch, self.steps_per_iteration),
            num_epochs=self.epochs,
            **self._loss,
        )
