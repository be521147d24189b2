# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asynchronous proximal policy optimization: IMPALA with PPO's clipped loss."""

from dataclasses import dataclass
from typing import ClassVar

from ray.rllib.algorithms.appo import APPOConfig

from mlcb_gym.agents.masked_appo import MaskedAppo
from mlcb_gym.training.algorithms.impala import Impala
from mlcb_gym.training.training_env import Environment


@dataclass(frozen=True, kw_only=True)
class Appo(Impala):
    """APPO without a KL penalty; processes sample as with ``impala``.

    ```sh
    mlcb train posetrl --algo appo --runners 2 -o runs/appo
    ```

    Args:
        clip: how far the ratio of new to old probabilities may leave 1.
    """

    algorithm: ClassVar[str] = "appo"
    learns_values: ClassVar[bool] = False

    clip: float = 0.2

    def config(self, environment: Environment) -> APPOConfig:
        return self._asynchronous(APPOConfig(), environment, MaskedAppo).training(clip_param=self.clip, use_kl_loss=False)
