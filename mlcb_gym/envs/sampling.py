# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The draw of the program that an episode is played on."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, get_args

import numpy as np

from mlcb_gym.corpus.programs import Program
from mlcb_gym.errors import TaskError

Sampling = Literal["uniform", "size", "improvement", "curriculum"]

DECAY = 0.9
"""The weight of the past in the moving average of a program's improvement, as in MLGO's of rewards (arXiv 2101.04808)."""
UNIFORM_SHARE = 0.1
"""The share of uniform draws among weighted ones, so that no program is forgotten."""
FIRST_SHARE = 0.1
"""The share of the programs, the smallest ones, that a curriculum begins with."""


class Sampler(Protocol):
    """A rule to draw programs by."""

    def draw(self, rng: np.random.Generator) -> int:
        """Return the index of a program."""

    def note(self, index: int, ratio: float) -> None:
        """Note the ratio that an episode on a program ended with, 1 where it failed or left nothing to decide; by default it changes nothing."""


class Uniform(Sampler):
    """Every program is equally likely."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._count = len(programs)

    def draw(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self._count))


class BySize(Sampler):
    """A program is as likely as its bitcode is large."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._shares = _shares(_sizes(programs))

    def draw(self, rng: np.random.Generator) -> int:
        return int(rng.choice(len(self._shares), p=self._shares))


class ByImprovement(Sampler):
    """A program is as likely as much was gained on it of late: the moving average of its log ratios, of those below 0.

    One that was not drawn yet counts as much as the best of the others; one that fails or leaves nothing to decide has no gain.
    """

    def __init__(self, programs: Sequence[Program]) -> None:
        self._gains = np.full(len(programs), np.nan)

    def draw(self, rng: np.random.Generator) -> int:
        best = np.nanmax(self._gains, initial=0.0)
        gains = np.where(np.isnan(self._gains), best, self._gains)
        return int(rng.choice(len(gains), p=_shares(gains)))

    def note(self, index: int, ratio: float) -> None:
        gain, before = max(0.0, -float(np.log(ratio))), self._gains[index]
        self._gains[index] = gain if np.isnan(before) else DECAY * before + (1 - DECAY) * gain


class Curriculum(Sampler):
    """The smallest programs first, then more and more: all of them after as many draws as there are programs."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._order = np.argsort(_sizes(programs), kind="stable")
        self._draws = 0

    def draw(self, rng: np.random.Generator) -> int:
        count = len(self._order)
        known = min(count, max(1, int(FIRST_SHARE * count)) + self._draws)
        self._draws += 1
        return int(self._order[rng.integers(known)])


SAMPLERS: dict[Sampling, Callable[[Sequence[Program]], Sampler]] = {
    "uniform": Uniform,
    "size": BySize,
    "improvement": ByImprovement,
    "curriculum": Curriculum,
}


def sampler(name: str, programs: Sequence[Program]) -> Sampler:
    """Return the rule of that name.

    Raises:
        TaskError: there is none.
    """
    if name not in SAMPLERS:
        raise TaskError(f"sampling={name!r}: expected one of {', '.join(get_args(Sampling))}")
    return SAMPLERS[name](programs)


def _sizes(programs: Sequence[Program]) -> np.ndarray:
    return np.array([program.bitcode.stat().st_size for program in programs], float)


def _shares(weights: np.ndarray) -> np.ndarray:
    """Return probabilities in proportion to weights, mixed with equal ones."""
    equal = np.full(len(weights), 1 / len(weights))
    total = weights.sum()
    shares: np.ndarray = UNIFORM_SHARE * equal + (1 - UNIFORM_SHARE) * weights / total if total else equal
    return shares
