# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The request that starts an episode."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """The resources of one episode. Time waiting for advice does not count.

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
        """Seconds after which a compiler without a message is given up; its own limit ends it before."""
        return self.turn_seconds + self.GRACE_SECONDS


@dataclass(frozen=True)
class Target:
    """The machine that code is generated for; empty fields mean the module's own triple and that triple's baseline CPU."""

    triple: str = ""
    cpu: str = ""

    @property
    def architecture(self) -> str:
        """The architecture, as ``x86_64``; this machine's where modules have their own."""
        return self.triple.partition("-")[0] or platform.machine()


@dataclass(frozen=True)
class EpisodeRequest:
    """The request for an episode: its program, metrics, forbidden actions and limits.

    Args:
        measure: metrics come "always" with the observations, or at the "end" alone.
        models: models are likely to take the decisions: a worker loads ONNX Runtime before it starts the episode.
    """

    program: Path
    metrics: Sequence[str] = ()
    measure: str = "always"
    forbidden: Sequence[int] = ()
    verify: bool = False
    models: bool = False
    target: Target = Target()
    limits: Limits = Limits()
