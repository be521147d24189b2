# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From actions of an environment to the advice that a compiler takes, and back."""

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from mlcb_gym.envs.record import Action


@dataclass(frozen=True)
class Choices:
    """Actions that are indices, as the advice is."""

    space: "spaces.Discrete[np.int64]"

    @property
    def number(self) -> int:
        """The number of choices."""
        return int(self.space.n)

    def advice(self, action: Action) -> int:
        """Return the advice that an action gives."""
        return int(action)

    def action(self, advice: int | float) -> int:
        """Return the action that gives this advice."""
        return int(advice)

    def allows(self, action: Any, mask: np.ndarray | None) -> bool:
        """Whether this is an index that the mask, if there is one, allows."""
        try:
            index = operator.index(action)
        except TypeError:
            return False
        return 0 <= index < self.number and (mask is None or bool(mask[index]))


@dataclass(frozen=True)
class Values:
    """Actions that are arrays [1] with a value.

    Args:
        space: of the actions.
        unit: the advice that the action 1 gives.
    """

    space: spaces.Box
    unit: float = 1.0
    number = 0

    def advice(self, action: Action) -> float:
        """Return the advice that an action gives."""
        return float(np.asarray(action).item()) * self.unit

    def action(self, advice: int | float) -> np.ndarray:
        """Return the action that gives this advice, or the nearest that there is. NaN stays NaN, which no action space contains."""
        return np.array([np.clip(advice / self.unit, self.space.low.item(), self.space.high.item())], np.float32)

    def allows(self, action: Any, mask: np.ndarray | None) -> bool:
        """Whether this is an array in the space."""
        return isinstance(action, np.ndarray) and self.space.contains(action)


def actions_in(space: "spaces.Discrete[np.int64] | spaces.Box") -> Choices | Values:
    """Return the actions of an action space of a bound spec."""
    return Choices(space) if isinstance(space, spaces.Discrete) else Values(space)
