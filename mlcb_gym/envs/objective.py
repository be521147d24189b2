# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reward of an environment: which metrics it needs, and what a step earns by them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mlcb_gym.errors import TaskError

Metrics = Mapping[str, float]

TIMES = frozenset({"seconds", "llvm_seconds"})
"""Metrics that differ from run to run."""


@dataclass(frozen=True)
class Objective:
    """A reward as a function of metrics.

    Example: ``Objective(("size", "size_oz"), lambda before, after: (before["size"] - after["size"]) / after["size_oz"])``.

    Args:
        metrics: names of the metrics that are measured.
        of_step: the reward of a step, from the metrics before it and after it.
        first: for each metric that ``of_step`` needs of the first state, the metric of the last state that is equal to it. The return of an
            episode is then ``of_step(first state, last state)``, so that its end alone has to be measured. None where it is only known step
            by step.
        ratio: the metric of ``info["ratio"]`` and its baseline.
        from_baseline: the first step is rewarded as if the first state were what ``first`` says, even where it was measured itself.
    """

    metrics: tuple[str, ...]
    of_step: Callable[[Metrics, Metrics], float]
    first: Mapping[str, str] | None = None
    ratio: tuple[str, str] | None = None
    from_baseline: bool = False

    def wanted(self, *, dense: bool) -> tuple[str, ...]:
        """Return the names of the metrics that an episode needs.

        Raises:
            TaskError: the reward is only known step by step, but ``dense`` is False.
        """
        if dense:
            return self.metrics
        if self.first is None:
            raise TaskError("dense=False: this reward is only known step by step")
        return tuple(dict.fromkeys([*self.metrics, *self.first.values()]))

    def at_start(self, last: Metrics) -> Metrics:
        """Return the metrics of the first state, from those of the last."""
        assert self.first is not None
        return {name: last[equal] for name, equal in self.first.items()}

    def earned(self, before: Metrics, after: Metrics, *, dense: bool, step: int, ended: bool) -> float:
        """Return the reward of a step of an episode; ``step`` counts from 1."""
        if not dense:
            return float(self.of_step(self.at_start(after), after)) if ended else 0.0
        return float(self.of_step(self.at_start(after) if self.from_baseline and step == 1 else before, after))


LEAST_RATIO = 1e-3
"""What a metric that falls to 0 counts as, in logarithms and geometric means."""


def ratio_of(pair: tuple[str, str] | None, metrics: Metrics) -> float | None:
    """Return a metric divided by its baseline, ``LEAST_RATIO`` at least, or 1 more than the metric where the baseline is 0; None where they were not
    measured.
    """
    if pair is None or not set(pair) <= set(metrics):
        return None
    own, baseline = (metrics[name] for name in pair)
    return max(float(own / baseline), LEAST_RATIO) if baseline else 1.0 + own


def default_of(metric: str) -> str:
    """Return the name of the metric that LLVM's own heuristic reaches in another one; the guard does not change it."""
    return f"{metric.removesuffix('_guarded')}_default"


def relative(metric: str, *beside: str) -> Objective:
    """Return the improvement of a metric over LLVM's own heuristic, as a fraction: (default - final) / default. ``beside`` is measured too."""
    default, names = default_of(metric), (metric, *beside)

    def of_step(before: Metrics, after: Metrics) -> float:
        return (before[metric] - after[metric]) / (after[default] or 1.0)

    metrics = tuple(dict.fromkeys([*names, *map(default_of, names)]))
    return Objective(metrics, of_step, first={metric: default}, ratio=(metric, default), from_baseline=True)


NOTHING = Objective((), lambda before, after: 0.0, first={})
"""A reward of 0, for which nothing is measured."""


def objective_of(reward: str, rewards: Mapping[str, Objective]) -> Objective:
    """Return a reward by its name.

    Raises:
        TaskError: there is no such reward.
    """
    if reward not in rewards:
        raise TaskError(f"reward={reward!r}: expected one of {', '.join(rewards)}")
    return rewards[reward]
