# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MARWIL (Wang et al., 2018): recorded decisions are imitated the more, the better they turned out than the value predicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.offline import Offline
from mlcb_gym.training.training_env import Environment


@dataclass(frozen=True, kw_only=True)
class Marwil(Offline):
    """Monotonic advantage re-weighted imitation learning.

    ```sh
    mlcb log record posetrl --policy random --episodes 10 --programs embedded/train -o random.log
    mlcb train posetrl --algo marwil --set 'episodes=["random.log"]' -o runs/marwil
    ```

    Args:
        beta: the exponent that advantages weigh decisions with, up to 1; returns are standardised.
        value_weight: the weight of the loss of the value.
    """

    algorithm: ClassVar[str] = "marwil"
    rewarded: ClassVar[bool] = True
    space: ClassVar[Mapping[str, str]] = {**Offline.space, "beta": "uniform(0.25,1)"}

    beta: float = 1.0
    value_weight: float = 0.5

    def config(self, environment: Environment) -> AlgorithmConfig:
        if not 0 < self.beta <= 1:
            raise TrainingError(f"beta={self.beta:g}: expected more than 0, and 1 at most")
        return super().config(environment)

    @property
    def _loss(self) -> dict[str, Any]:
        return {"beta": self.beta, "vf_coeff": self.value_weight, "moving_average_sqd_adv_norm_start": 1.0}
