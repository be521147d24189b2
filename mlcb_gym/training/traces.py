# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in short, and files of them, one a line."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FAILED_RATIO = 2.0
"""The size to that of -Oz that a failed episode counts with if not even its first state was measured, as without ``dense``.

A convention, not a measurement: what fails must cost more than what merely does not help.
"""


@dataclass(frozen=True)
class Trace:
    """An episode in short.

    Args:
        sizes: the size before the first action and after each; the last one alone where only the end was measured.
        text: the final bytes of code, where they were measured; ``text_oz`` those of -Oz.
        seconds: what the compiler worked, where that was measured at every step.
    """

    program: str
    actions: tuple[int, ...]
    sizes: tuple[float, ...]
    size_oz: float
    error: str | None = None
    text: float | None = None
    text_oz: float | None = None
    seconds: float | None = None

    @property
    def ratio(self) -> float:
        """Final size to that of -Oz; infinite where the compiler failed."""
        return math.inf if self.error else self.sizes[-1] / self.size_oz

    @property
    def scored(self) -> float:
        """``ratio``, but finite: a failed episode counts as large as the program was at its start, or ``FAILED_RATIO``."""
        if self.error is None:
            return self.ratio
        return self.sizes[0] / self.size_oz if self.sizes else FAILED_RATIO

    @property
    def best_ratio(self) -> float:
        """Smallest size to that of -Oz, wherever in the episode."""
        return min(self.sizes) / self.size_oz

    @property
    def gain(self) -> float:
        """How much smaller than -Oz the smallest state is, as a logarithm: 0.01 is about 1 %."""
        return -math.log(self.best_ratio)

    def trimmed(self) -> tuple[int, ...]:
        """The actions up to the smallest size, the first of equal ones."""
        return self.actions[: self.sizes.index(min(self.sizes))]

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Trace":
        return cls(**fields | {"actions": tuple(fields["actions"]), "sizes": tuple(fields["sizes"])})


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one a line; none if it does not exist. A last line that was cut short by a crash is left out."""
    if not path.exists():
        return
    with path.open() as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)


def read_traces(path: Path) -> Iterator[Trace]:
    """The traces of a file."""
    return map(Trace.from_fields, read_lines(path))


def best_by_program(traces: Iterable[Trace], count: int = 1) -> dict[str, list[Trace]]:
    """The ``count`` smallest episodes of each program, the best first; of those that are equally small, the shortest alone.

    An episode is as small as its smallest state, and as long as it takes to get there: see ``Trace.trimmed``.
    """
    by_program: dict[str, dict[float, Trace]] = {}
    for trace in traces:
        if trace.error is None:
            found = by_program.setdefault(trace.program, {})
            rival = found.setdefault(trace.best_ratio, trace)
            if len(trace.trimmed()) < len(rival.trimmed()):
                found[trace.best_ratio] = trace
    return {program: [found[ratio] for ratio in sorted(found)[:count]] for program, found in by_program.items()}
