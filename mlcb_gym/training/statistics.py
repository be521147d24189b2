# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ratios of many programs in one number, with how sure it is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000


@dataclass(frozen=True)
class Estimate:
    """A geometric mean and its 95 % interval (percentile bootstrap over programs)."""

    mean: float
    low: float
    high: float
    programs: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} [{self.low:.4f}, {self.high:.4f}]"


def geomean(ratios: Sequence[float]) -> float:
    """The geometric mean of positive ratios."""
    return float(np.exp(np.mean(np.log(ratios))))


def estimate(ratios: Sequence[float], *, seed: int = 0) -> Estimate:
    """The geometric mean of ``ratios``, one per program, with its interval. The same seed pairs the resamples of two methods."""
    logs = np.log(np.asarray(ratios, dtype=float))
    drawn = np.random.default_rng(seed).integers(len(logs), size=(RESAMPLES, len(logs)))
    low, high = np.quantile(np.exp(logs[drawn].mean(axis=1)), [0.025, 0.975])
    return Estimate(geomean(ratios), float(low), float(high), len(logs))
