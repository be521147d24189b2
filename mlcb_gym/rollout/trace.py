# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Summaries of episodes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mlcb_gym.envs.objective import ratio_of
from mlcb_gym.envs.record import Action

FAILED_RATIO = 2.0
"""The ratio that a failed episode counts with if not even its first state was measured, as without ``dense``.

A convention, not a measurement: what fails must cost more than what merely does not help.
"""


@dataclass(frozen=True)
class Trace:
    """The summary of an episode.

    Args:
        ratios: the ratio of the environment's objective to the compiler's own heuristic, before the first action and after each; the last one
            alone where only the end was measured.
        measured: the metrics that were measured last.
        seconds: the CPU time of the compiler, where that was measured.
        steps: the number of steps; all decisions that were delegated to models are one.
        lost: whether the episode failed by a fault of the machine, not of the compiler: another attempt may succeed.
    """

    program: str
    actions: tuple[Action, ...]
    ratios: tuple[float, ...]
    error: str | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    steps: int = 0
    lost: bool = False

    @property
    def ratio(self) -> float:
        """The last ratio; infinite where the compiler failed."""
        return math.inf if self.error else self.ratios[-1]

    @property
    def scored(self) -> float:
        """The last ratio, but finite: of a failed episode the ratio at its start, or ``FAILED_RATIO``."""
        if self.error is None:
            return self.ratio
        return self.ratios[0] if self.ratios else FAILED_RATIO

    def scored_in(self, own: str, heuristic: str) -> float:
        """Return the ratio of another pair of metrics; ``scored`` of a failed episode, and where they were not measured, as without a decision."""
        ratio = None if self.error else ratio_of((own, heuristic), self.measured)
        return self.scored if ratio is None else ratio


def geomean(ratios: Sequence[float]) -> float:
    """Return the geometric mean of positive ratios."""
    return float(np.exp(np.mean(np.log(ratios))))
