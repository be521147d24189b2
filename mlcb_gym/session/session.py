# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every kind of compiler can do for an environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mlcb_gym.session.episode import Episode
from mlcb_gym.spec import TaskSpec


@dataclass(frozen=True)
class Limits:
    """What one episode may use. Time waiting for advice does not count.

    Args:
        cpu_seconds: CPU time of the whole episode.
        turn_seconds: wall-clock time of one turn of the compiler.
        memory_bytes: address space beyond what the worker had at the start of the episode.
    """

    cpu_seconds: int = 600
    turn_seconds: float = 60.0
    memory_bytes: int = 4 << 30

    GRACE_SECONDS = 10.0

    @property
    def deadline(self) -> float:
        """Seconds after which a silent compiler is given up: its own limit ends it before."""
        return self.turn_seconds + self.GRACE_SECONDS


@dataclass(frozen=True)
class Target:
    """The machine that code is generated for; empty fields mean the module's own triple and that triple's baseline CPU."""

    triple: str = ""
    cpu: str = ""


@dataclass(frozen=True)
class EpisodeRequest:
    """What an episode is started with: one program, what is measured beside each observation, what is not allowed, and how much it may use."""

    program: Path
    metrics: Sequence[str] = ()
    barred: Sequence[int] = ()
    verify: bool = False
    target: Target = Target()
    limits: Limits = Limits()


class Session(Protocol):
    """A compiler that runs episodes of one bound task, one after another or several at once."""

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task; raises TaskError naming the parameter that does not fit."""

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts an episode; raises SessionLost when the compiler cannot be reached."""

    def close(self) -> None:
        """Ends the compiler and everything it started. May be called twice."""
