# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proximal policy optimization (Schulman et al., 2017)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ray.rllib.algorithms.ppo import PPOConfig

from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.training.recipe import Decay, Recipe
from mlcb_gym.training.training_env import Environment


@dataclass(frozen=True, kw_only=True)
class Ppo(Recipe):
    """PPO without a KL penalty; the entropy bonus decays.

    Args:
        entropy: the weight of the entropy bonus.
        gae_lambda: the lambda of generalised advantage estimation.
        clip: how far the ratio of new to old probabilities may leave 1.
        epochs: passes over the steps of an iteration.
        minibatch: steps of one gradient step.
        value_weight: the weight of the loss of the value.
        grad_clip: the norm that gradients are clipped to.
    """

    algorithm: ClassVar[str] = "ppo"
    learns_all: ClassVar[bool] = True
    space: ClassVar[Mapping[str, str]] = {
        "lr": "log(3e-5,3e-3)",
        "entropy.first": "log(1e-3,1e-1)",
        "gae_lambda": "uniform(0.9,1)",
        "network.hidden": "[[64],[128,128],[256,256]]",
    }

    entropy: Decay = Decay(0.02, 0.002, 200_000)
    gae_lambda: float = 0.95
    clip: float = 0.2
    epochs: int = 4
    minibatch: int = 256
    value_weight: float = 0.5
    grad_clip: float = 0.5

    def config(self, environment: Environment) -> PPOConfig:
        return self._common(PPOConfig(), environment, MaskedPolicyGradient).training(
            lr=self.lr,
            gamma=self.gamma,
            lambda_=self.gae_lambda,
            clip_param=self.clip,
            use_kl_loss=False,
            entropy_coeff=self.entropy.schedule,
            vf_loss_coeff=self.value_weight,
            vf_clip_param=float("inf"),
            grad_clip=self.grad_clip,
            train_batch_size_per_learner=self.steps_per_iteration,
            minibatch_size=min(self.minibatch, self.steps_per_iteration),
            num_epochs=self.epochs,
        )
