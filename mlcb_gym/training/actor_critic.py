# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The base of recipes that learn a policy and a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mlcb_gym.training.recipe import Decay, Recipe


@dataclass(frozen=True, kw_only=True)
class ActorCritic(Recipe):
    """A policy and a value, learnt by one loss; the entropy bonus decays.

    Args:
        entropy: the weight of the entropy bonus.
        value_weight: the weight of the loss of the value.
        grad_clip: the norm that gradients are clipped to.
    """

    learns_values: ClassVar[bool] = True
    learns_teams: ClassVar[bool] = True
    space: ClassVar[Mapping[str, str]] = {
        "lr": "log(3e-5,3e-3)",
        "entropy.first": "log(1e-3,1e-1)",
        "network.hidden": "[[64],[128,128],[256,256]]",
    }

    entropy: Decay = Decay(0.02, 0.002, 200_000)
    value_weight: float = 0.5
    grad_clip: float = 0.5

    @property
    def _loss(self) -> dict[str, Any]:
        """The loss and its optimizer, as RLlib's ``training`` takes them."""
        return {
            "lr": self.lr,
            "gamma": self.gamma,
            "entropy_coeff": self.entropy.schedule,
            "vf_loss_coeff": self.value_weight,
            "grad_clip": self.grad_clip,
        }
