# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ratios of many programs in one number, with how sure it is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlcb_gym.rollout.trace import geomean

RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """Where 95 % of the resampled means lie."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.4f}-{self.high:.4f}"


@dataclass(frozen=True)
class Estimate:
    """A geometric mean over programs and its intervals (percentile bootstrap).

    Args:
        by_program: programs resampled one by one: what other programs of these projects would give.
        by_project: projects resampled with all their programs, which resemble one another: what other projects would give.
    """

    mean: float
    by_program: Interval
    by_project: Interval
    programs: int
    projects: int


def estimate(ratios: Sequence[float], projects: Sequence[str], *, seed: int = 0) -> Estimate:
    """The geometric mean of ``ratios``, one per program of ``projects``. The same seed pairs the resamples of two methods."""
    logs = np.log(np.asarray(ratios, dtype=float))
    names, project = np.unique(projects, return_inverse=True)
    by_program, by_project = (_bootstrap(logs, groups, seed) for groups in (np.arange(len(logs)), project))
    return Estimate(geomean(ratios), by_program, by_project, len(logs), len(names))


def _bootstrap(logs: np.ndarray, groups: np.ndarray, seed: int) -> Interval:
    """Draws whole groups, as many as there are; the mean is that of all values drawn."""
    sums, counts = np.bincount(groups, logs), np.bincount(groups)
    drawn = np.random.default_rng(seed).integers(len(sums), size=(RESAMPLES, len(sums)))
    low, high = np.quantile(np.exp(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)), [0.025, 0.975])
    return Interval(float(low), float(high))
