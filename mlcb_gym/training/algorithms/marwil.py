# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MARWIL (Wang et al., 2018): recorded decisions are imitated the more, the better they turned out than the value predicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mlcb_gym.training.offline import Offline


@dataclass(frozen=True, kw_only=True)
class Marwil(Offline):
    """Monotonic advantage re-weighted imitation learning.

    Args:
        beta: the exponent that advantages weigh decisions with.
        value_weight: the weight of the loss of the value.
    """

    algorithm: ClassVar[str] = "marwil"
    space: ClassVar[Mapping[str, str]] = {**Offline.space, "beta": "uniform(0.25,4)"}

    beta: float = 1.0
    value_weight: float = 0.5

    @property
    def _loss(self) -> dict[str, Any]:
        return {"beta": self.beta, "vf_coeff": self.value_weight}
