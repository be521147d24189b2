# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every kind of compiler can do for an environment."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from mlcb_gym.session.episode import Episode
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec


class Session(Protocol):
    """A compiler that runs episodes of one bound task, one after another or several at once."""

    takes_models: ClassVar[bool]
    """Whether the rest of an episode can be left to models."""

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task; raises TaskError naming the parameter that does not fit."""

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts an episode; raises SessionLost when the compiler cannot be reached."""

    def close(self) -> None:
        """Ends the compiler and everything it started. May be called twice."""
