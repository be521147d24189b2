# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Geometric means of ratios over programs, with confidence intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mlcb_gym.rollout.trace import geomean

RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """The interval of 95 % of the resampled means."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.4f}-{self.high:.4f}"


@dataclass(frozen=True)
class Estimate:
    """A geometric mean over programs and its intervals (percentile bootstrap).

    Args:
        by_program: programs resampled one by one, as if other programs of these projects were drawn; None for one program.
        by_project: projects resampled with all their programs, which resemble one another, as if other projects were drawn; None for one project.
    """

    mean: float
    by_program: Interval | None
    by_project: Interval | None
    programs: int
    projects: int


def estimate(ratios: Sequence[float], projects: Sequence[str], *, seed: int = 0) -> Estimate:
    """Return the geometric mean of ``ratios``, one per program of ``projects``. The same seed pairs the resamples of two methods."""
    return _estimate(tuple(ratios), tuple(projects), seed)


@lru_cache(maxsize=256)  # a table, its JSON and its picture show the same estimates
def _estimate(ratios: tuple[float, ...], projects: tuple[str, ...], seed: int) -> Estimate:
    logs = np.log(np.asarray(ratios, dtype=float))
    names, project = np.unique(projects, return_inverse=True)
    by_program, by_project = (_bootstrap(logs, groups, seed) for groups in (np.arange(len(logs)), project))
    return Estimate(geomean(ratios), by_program, by_project, len(logs), len(names))


def _bootstrap(logs: np.ndarray, groups: np.ndarray, seed: int) -> Interval | None:
    """Draw whole groups, as many as there are, and return the interval of the means of all drawn values; None where there is one group."""
    sums, counts = np.bincount(groups, logs), np.bincount(groups)
    if len(sums) == 1:
        return None
    drawn = np.random.default_rng(seed).integers(len(sums), size=(RESAMPLES, len(sums)))
    low, high = np.quantile(np.exp(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)), [0.025, 0.975])
    return Interval(float(low), float(high))
