# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes of a function each: what the compiler asks about a module, cut where it goes on to the next function."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium

from mlcb_gym import _native
from mlcb_gym.envs.advisor import AdvisorEnv
from mlcb_gym.envs.compiler_env import CompilerEnv, Info, Metrics, Step
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.envs.relative import default_of
from mlcb_gym.errors import TaskError

COST = "cost"
TOLD = ("function", "function_default", "functions_saved")
"""What the compiler tells at every question: the place of the function that it asks about, what that costs by default, and what those before it
cost less than by default."""


class FunctionEpisodes(AdvisorEnv):
    """An environment that may play the functions of a module as episodes of their own, for each of which ``cost`` and ``cost_default`` are measured.

    An episode ends with its function, but the compiler waits at its next question: a reset that is told neither a seed nor a program takes up
    there, and begins with another program only when the module is through. A function that is asked nothing about is none.

    Args:
        per_function: whether it does.
        kwargs: see ``AdvisorEnv``; measured ``always`` where it does.
    """

    def __init__(self, *, per_function: bool, **kwargs: Any) -> None:
        self._per_function = per_function
        self._first: Metrics | None = None  # what was told at the function's first question
        self._next: _native.Message | None = None  # the first question about the next function, which nobody has seen
        super().__init__(**kwargs)
        if per_function:
            self._request = replace(self._request, metrics=TOLD, measure="always")

    def reseed(self, seed: int | None) -> None:
        """Seeds the draw of programs, as ``reset(seed=...)`` does; the next episode begins with one."""
        super().reseed(seed)
        if seed is not None:
            self._forget()

    def send_reset(self, options: dict[str, Any] | None = None) -> None:
        """The first half of ``reset``: tells the compiler to begin, where it does not wait already."""
        if self._next is None or options:
            self._forget()
            super().send_reset(options)

    def receive_reset(self) -> tuple[Observation, Info]:
        """The second half of ``reset``: waits for the first observation."""
        if self._next is None:
            return super().receive_reset()
        message = self._next
        self._forget()
        self.timing.episodes += 1
        self._steps, self._return = 0, 0.0
        self._observe(message)
        return self._observation, self._info()

    def send(self, action: Action) -> None:
        """The first half of ``step``: gives the compiler its advice and returns at once."""
        self._check_running()
        super().send(action)

    @property
    def takes_models(self) -> bool:
        """Whether an episode can be left to models."""
        return super().takes_models and not self._per_function

    def send_models(self, models: Sequence[bytes]) -> None:
        """The first half of ``delegate``."""
        if self._per_function:
            raise TaskError('episode="function": only whole programs can be left to models, expected episode="program"')
        super().send_models(models)

    def ready(self) -> bool:
        """Whether the second half of a step or a reset returns at once."""
        return self._next is not None or super().ready()

    def fork(self) -> CompilerEnv:
        """A second environment at the same decision of the same episode; see ``CompilerEnv``."""
        self._check_running()
        return super().fork()

    def close(self) -> None:
        """Ends the episode and, unless the compiler was given, the compiler."""
        self._forget()
        super().close()

    def _check_running(self) -> None:
        if self._next is not None:
            raise gymnasium.error.ResetNeeded("step or fork called after the end of the episode")

    def _forget(self) -> None:
        self._first = self._next = None

    def _observe(self, message: _native.Message) -> None:
        """A question about another function, or the end, is the end of the one before, whose last observation stands."""
        if not self._per_function:
            super()._observe(message)
        elif self._first is None or self._goes_on(message):
            super()._observe(message)
            self._first, self._metrics = self._first or message.metrics, {}
        else:
            self._metrics = _of_function(self._first, message.metrics)
            self._next = None if message.kind == "episode_end" else message
            self._first = None

    def _goes_on(self, message: _native.Message) -> bool:
        assert self._first is not None
        return message.kind != "episode_end" and message.metrics["function"] == self._first["function"]

    def _is_end(self, message: _native.Message) -> bool:
        return super()._is_end(message) or self._next is not None

    def _end(self, reward: float, *, truncated: bool, error: str | None = None) -> Step:
        if self._next is None or error is not None:
            self._forget()
            return super()._end(reward, truncated=truncated, error=error)
        self._return += reward
        return self._observation, reward, True, False, self._info()


def _of_function(first: Metrics, after: Metrics) -> Mapping[str, float]:
    """What a function costs, from what was told at its first question and after it."""
    default = first["function_default"]
    return {COST: default - (after["functions_saved"] - first["functions_saved"]), default_of(COST): default}
