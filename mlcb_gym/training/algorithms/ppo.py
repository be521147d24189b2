# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proximal policy optimization (Schulman et al., 2017)."""

from dataclasses import dataclass, field
from typing import ClassVar

from ray.rllib.algorithms.ppo import PPOConfig

from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.training.environment import Environment, Shaping
from mlcb_gym.training.recipe import Distillation, Recipe


@dataclass(frozen=True, kw_only=True)
class Ppo(Recipe):
    """PPO without a KL penalty; the entropy bonus falls from ``entropy`` to ``final_entropy`` over ``entropy_steps``."""

    algorithm: ClassVar[str] = "ppo"

    gae_lambda: float = 0.95
    clip: float = 0.2
    epochs: int = 4
    minibatch: int = 256
    entropy: float = 0.02
    final_entropy: float = 0.002
    entropy_steps: int = 200_000
    value_weight: float = 0.5
    grad_clip: float = 0.5

    def config(self, environment: Environment) -> PPOConfig:
        return self._common(PPOConfig(), environment, MaskedPolicyGradient).training(
            lr=self.lr,
            gamma=self.gamma,
            lambda_=self.gae_lambda,
            clip_param=self.clip,
            use_kl_loss=False,
            entropy_coeff=[[0, self.entropy], [self.entropy_steps, self.final_entropy]],
            vf_loss_coeff=self.value_weight,
            vf_clip_param=float("inf"),
            grad_clip=self.grad_clip,
            train_batch_size_per_learner=self.steps_per_iteration,
            minibatch_size=min(self.minibatch, self.steps_per_iteration),
            num_epochs=self.epochs,
        )


@dataclass(frozen=True, kw_only=True)
class Mlgo(Ppo):
    """PPO as MLGO trains its inliner (arXiv 2101.04808): hundreds of small decisions, and one outcome of them all.

    MLGO pays every decision the whole outcome and discounts by 0. That is the outcome paid at the end, neither discounted nor
    bootstrapped (``gamma`` and ``gae_lambda`` are 1): the same returns, and the same advantages, without knowing the end beforehand. So
    only whole episodes are learnt from.
    """

    algorithm: ClassVar[str] = "mlgo"

    gae_lambda: float = 1.0
    steps_per_iteration: int = 4096
    minibatch: int = 1024
    entropy: float = 0.01
    final_entropy: float = 0.001
    entropy_steps: int = 1_000_000
    shaping: Shaping = field(default_factory=lambda: Shaping(scale=100.0, limit=0.1))
    network: NetworkConfig = field(default_factory=lambda: NetworkConfig(hidden=(64, 64)))
    distillation: Distillation = field(default_factory=lambda: Distillation(epochs=15, lr=2e-3, unit=0.005, limit=0.05, entropy=0.1, importance=0.0))

    def config(self, environment: Environment) -> PPOConfig:
        config: PPOConfig = super().config(environment).env_runners(batch_mode="complete_episodes")
        return config
