# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proximal policy optimization of a final reward, as in MLGO (Trofin et al., 2021)."""

from dataclasses import dataclass, field
from typing import ClassVar

from ray.rllib.algorithms.ppo import PPOConfig

from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.training.algorithms.ppo import Ppo
from mlcb_gym.training.recipe import Decay, Distillation
from mlcb_gym.training.training_env import Environment, Shaping


@dataclass(frozen=True, kw_only=True)
class Mlgo(Ppo):
    """PPO as in MLGO (arXiv 2101.04808), for episodes of hundreds of small decisions with one final reward.

    MLGO gives every decision the final reward and discounts by 0. The same returns and advantages follow from the final reward alone, neither
    discounted nor bootstrapped (``gamma`` and ``gae_lambda`` are 1), without knowing it beforehand. Only whole episodes are learnt from.

    ```sh
    mlcb train inliner --algo mlgo --clone -o runs/mlgo     # begins as LLVM's own heuristic
    ```
    """

    algorithm: ClassVar[str] = "mlgo"

    entropy: Decay = Decay(0.01, 0.001, 1_000_000)
    gae_lambda: float = 1.0
    steps_per_iteration: int = 4096
    minibatch: int = 1024
    shaping: Shaping = field(default_factory=lambda: Shaping(scale=100.0, limit=0.1))
    network: NetworkConfig = field(default_factory=lambda: NetworkConfig(hidden=(64, 64)))
    distillation: Distillation = field(default_factory=lambda: Distillation(epochs=15, lr=2e-3, unit=0.005, limit=0.05, entropy=0.1, importance=0.0))

    def config(self, environment: Environment) -> PPOConfig:
        config: PPOConfig = super().config(environment).env_runners(batch_mode="complete_episodes")
        return config
