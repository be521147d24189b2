# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compiler is told at the start of an episode."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


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
    """What an episode is started with: one program, what is measured, what is not allowed, and how much it may use.

    Args:
        measure: metrics come "always" with the observations, or at the "end" alone.
        models: it is likely to be left to models: a worker has ONNX Runtime loaded before it starts the episode.
    """

    program: Path
    metrics: Sequence[str] = ()
    measure: str = "always"
    forbidden: Sequence[int] = ()
    verify: bool = False
    models: bool = False
    target: Target = Target()
    limits: Limits = Limits()
