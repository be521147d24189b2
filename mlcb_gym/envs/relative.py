# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What environments share whose reward is how much better a program gets than by LLVM's own heuristic."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlcb_gym.envs.compiler_env import CompilerEnv, Metrics
from mlcb_gym.errors import TaskError


def default_of(metric: str) -> str:
    """The metric that tells what LLVM's own heuristic comes to in another; a guard changes nothing of that."""
    return f"{metric.removesuffix('_guarded')}_default"


class RelativeEnv(CompilerEnv):
    """An episode of a compiler whose own heuristic is the baseline.

    Args:
        rewards: what is measured for each reward; the reward is about the first.
        reward: which of them.
        metrics: what is measured beside it.
        kwargs: see ``CompilerEnv``.

    Raises:
        TaskError: a reward that is none.
    """

    def __init__(self, *, rewards: Mapping[str, Sequence[str]], reward: str, metrics: Sequence[str] = (), **kwargs: Any) -> None:
        if reward not in rewards:
            raise TaskError(f"reward={reward!r}: expected one of {', '.join(rewards)}")
        self._measure = next(iter(rewards[reward]), None)
        super().__init__(metrics=list(dict.fromkeys([*rewards[reward], *map(default_of, rewards[reward]), *metrics])), **kwargs)

    @property
    def objective(self) -> tuple[str, str] | None:
        """What the reward is about."""
        return (self._measure, default_of(self._measure)) if self._measure else None

    def reward(self, before: Metrics, after: Metrics) -> float:
        """See Rewards."""
        if self._measure is None:
            return 0.0
        return (before[self._measure] - after[self._measure]) / (after[default_of(self._measure)] or 1.0)

    def measured_at_start(self, final: Metrics) -> Metrics:
        """What LLVM's own heuristic makes of the program: that is what an episode is compared with."""
        return {self._measure: final[default_of(self._measure)]} if self._measure else {}

    def _earned(self, before: Metrics, ended: bool) -> float:
        if self._dense and self._steps == 1:
            before = self.measured_at_start(self._metrics)
        return super()._earned(before, ended)
