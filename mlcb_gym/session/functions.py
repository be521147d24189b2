# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes of one function each, cut from the episode of its module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mlcb_gym._native import Message
from mlcb_gym.errors import TaskError
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.session.session import RunningEpisode, Session
from mlcb_gym.spec import TaskSpec

FUNCTION = "function"
"""The metric that is the index of the function that an observation is of."""


@dataclass(frozen=True)
class FunctionCost:
    """The metrics of a cost that a compiler knows function by function.

    Args:
        name: of the module.
        default: of the module, by default.
        function_default: of the function that is asked about, by default.
        functions_saved: how much less than by default the functions before it cost.
    """

    name: str
    default: str
    function_default: str
    functions_saved: str


class FunctionSession:
    """A session whose episodes are the functions of a module that leave anything to decide, for a task of one agent.

    Metrics come at the end of an episode, whatever the request says: the cost and its default, of the function.

    Args:
        session: a compiler that measures the cost.
    """

    takes_models: ClassVar[bool] = False

    def __init__(self, session: Session, cost: FunctionCost) -> None:
        self._session, self._cost = session, cost

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Return the task bound with these parameters."""
        return self._session.configure(task, parameters)

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> "FunctionEpisode":
        """Starts the module, and the episode of its first function."""
        metrics = (FUNCTION, self._cost.function_default, self._cost.functions_saved)
        return FunctionEpisode(self._session.begin(spec, replace(request, metrics=metrics, measure="always")), self._cost)

    def close(self) -> None:
        """Ends the compiler."""
        self._session.close()


class FunctionEpisode:
    """The part of a module's episode that belongs to one function; the compiler waits at the first observation of the next function.

    Args:
        module: the module's episode, which this one or its successor ends.
        cost: the metrics that come with its messages.
        waiting: a message of the module that has been received already.
    """

    def __init__(self, module: RunningEpisode, cost: FunctionCost, waiting: Message | None = None) -> None:
        self._module, self._cost, self._waiting = module, cost, waiting
        self._first: Mapping[str, float] | None = None  # metrics of the function's first observation
        self._last: Message | None = None
        self._next: Message | None = None  # the first observation of the next function
        self._owns_module = True

    @property
    def cache(self) -> Mapping[str, int]:
        """Hits and misses of a worker's cache of sizes before the module's episode."""
        return self._module.cache

    def receive(self) -> Message:
        """Return the next observation of the function, without metrics; or the end of the episode: the last observation and the cost.

        Raises:
            CompilerError: the compiler failed on what it was advised.
            SessionLost: the compiler is gone.
        """
        message, self._waiting = self._waiting or self._module.receive(), None
        ended = message.kind == "episode_end"
        if self._first is None and ended:
            return message  # a module that leaves nothing to decide
        self._first = self._first or message.metrics
        if not ended and message.metrics[FUNCTION] == self._first[FUNCTION]:
            self._last = message
            return Message("observation", message.tensors, {})
        assert self._last is not None
        self._next = None if ended else message
        return Message("episode_end", self._last.tensors, _costs(self._cost, self._first, message.metrics), "exhausted")

    def ready(self) -> bool:
        """Whether ``receive`` returns or raises at once."""
        return self._waiting is not None or self._module.ready()

    def fileno(self) -> int:
        """Return the descriptor to wait on until ``ready``."""
        return self._module.fileno()

    def advise(self, advice: int | float) -> None:
        """Sends advice for the last observation."""
        self._module.advise(advice)

    def delegate(self, models: Sequence[bytes]) -> None:
        """Impossible: models would decide to the end of the module.

        Raises:
            TaskError: always.
        """
        raise TaskError('episode="function": models take the decisions of whole modules only, expected episode="module"')

    def fork(self) -> "FunctionEpisode":
        """Return a clone at this decision of the same function."""
        clone = FunctionEpisode(self._module.fork(), self._cost)
        clone._first = self._first
        return clone

    def successor(self) -> "FunctionEpisode | None":
        """Return the episode of the next function, which the module's episode belongs to from now on; None at the end of the module."""
        if self._next is None:
            return None
        self._owns_module = False
        return FunctionEpisode(self._module, self._cost, self._next)

    def close(self) -> None:
        """Ends the module's episode, unless there is a successor. May be called twice."""
        if self._owns_module:
            self._module.close()


def _costs(cost: FunctionCost, first: Mapping[str, float], after: Mapping[str, float]) -> dict[str, int | float]:
    """The cost of a function and its default, from the metrics of its first observation and those of the message after its last.

    Example: its ``functions_saved`` rises from 10 to 13 over a function of default cost 50: it costs 47.
    """
    default = first[cost.function_default]
    rest = default - (after[cost.functions_saved] - first[cost.functions_saved])
    return {cost.name: max(rest, 0.0), cost.default: default}  # sums of a module are rounded
