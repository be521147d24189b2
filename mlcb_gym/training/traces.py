# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in short."""

import math
from dataclasses import dataclass

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
