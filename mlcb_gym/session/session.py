# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interface that every kind of compiler offers to an environment."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from mlcb_gym._native import Message
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec


class RunningEpisode(Protocol):
    """An episode that runs; ``Episode`` is that of one compiler."""

    @property
    def cache(self) -> Mapping[str, int]:
        """Hits and misses of a worker's cache of sizes before this episode."""

    def receive(self) -> Message:
        """Return the next observation, or the end of the episode; raises CompilerError or SessionLost."""

    def ready(self) -> bool:
        """Whether ``receive`` returns or raises at once."""

    def fileno(self) -> int:
        """Return the descriptor to wait on until ``ready``."""

    def advise(self, advice: int | float) -> None:
        """Sends advice for the last observation."""

    def delegate(self, models: Sequence[bytes]) -> None:
        """Lets models in the compiler take the remaining decisions; raises TaskError where it takes none."""

    def fork(self) -> "RunningEpisode":
        """Return a clone at this decision; its first message is the observation that this episode had last."""

    def successor(self) -> "RunningEpisode | None":
        """Return the episode that follows this one, which is over, in the same program, as that of the next function; None where none does."""

    def close(self) -> None:
        """Ends the episode, but not its successor. May be called twice."""


class Session(Protocol):
    """A compiler that runs episodes of bound tasks, one after another or several at once."""

    takes_models: ClassVar[bool]
    """Whether models in the compiler can take the decisions of an episode."""

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Return the task bound with these parameters; raises TaskError with the name of a parameter that does not fit."""

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> RunningEpisode:
        """Starts an episode; raises SessionLost where the compiler cannot be reached."""

    def close(self) -> None:
        """Ends the compiler and everything it started. May be called twice."""
