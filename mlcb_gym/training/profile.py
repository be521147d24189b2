# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wall time of a training run, by part."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm
from rich.table import Table

from mlcb_gym.training.training_env import TrainingEnv


class Stopwatch:
    """The seconds spent in chosen methods, by a clock."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds, self._clock = 0.0, clock

    def watch(self, owner: Any, *methods: str) -> None:
        """Time the calls of these methods of one object. They must not call one another."""
        for name in methods:
            setattr(owner, name, self._timed(getattr(owner, name)))

    def _timed(self, method: Any) -> Any:
        @wraps(method)
        def timed(*args: Any, **kwargs: Any) -> Any:
            started = self._clock()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds += self._clock() - started

        return timed


def watch_model(algorithm: Algorithm, clock: Callable[[], float] = time.perf_counter) -> Stopwatch:
    """Time the network itself: its forward passes, the draw of actions, losses, gradients and their application."""
    watch = Stopwatch(clock)
    watch.watch(algorithm.env_runner.module, "_forward_exploration")
    watch.watch(algorithm.env_runner, "drawn")
    learner = algorithm.learner_group._learner
    watch.watch(learner.module, "forward_train")
    watch.watch(learner, "compute_losses", "compute_gradients", "apply_gradients")
    return watch


@dataclass
class Shares:
    """Wall time in seconds, by part."""

    compiler: float
    environment: float
    model: float
    rllib: float

    @classmethod
    def of(cls, *, training_seconds: float, env: TrainingEnv, model: Stopwatch) -> "Shares":
        """Return the parts of the seconds spent in ``Algorithm.train``."""
        return cls(env.waited, env.seconds - env.waited, model.seconds, max(training_seconds - env.seconds - model.seconds, 0.0))

    @property
    def parts(self) -> dict[str, float]:
        """The seconds by the name of the part."""
        return {
            "LLVM (waited for)": self.compiler,
            "Python and transport": self.environment,
            "model": self.model,
            "RLlib": self.rllib,
        }

    def table(self) -> Table:
        total = sum(self.parts.values()) or 1.0
        table = Table("training time", "seconds", "share")
        for name, seconds in self.parts.items():
            table.add_row(name, f"{seconds:.1f}", f"{seconds / total:.0%}")
        return table
