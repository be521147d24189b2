# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The display of a run: one line that is rewritten in a terminal, and a line every few seconds elsewhere."""

from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

LINE_SECONDS = 5.0
"""The interval of lines where there is no terminal."""


class Display:
    """A context manager around a run; ``console`` may print while it is open.

    Args:
        phase: the line until ``status`` is set to a function that returns it, which another thread calls.
        seconds: the interval of lines where ``console`` is no terminal.
    """

    def __init__(self, console: Console, phase: str, *, seconds: float = LINE_SECONDS) -> None:
        self.status: Callable[[], str] = lambda: phase
        self._seconds, self._console = seconds, console
        self._ended = Event()
        self._live = Live(get_renderable=self._line, console=console, transient=True) if console.is_terminal else None
        self._printer = Thread(target=self._print, daemon=True)

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        else:
            self._printer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        if self._live:
            self._live.stop()
        else:
            self._printer.join()

    def _print(self) -> None:
        while not self._ended.wait(self._seconds):
            self._console.print(self._line())

    def _line(self) -> Text:
        return Text(self.status(), no_wrap=True, overflow="ellipsis")


def status_line(*, iteration: int, rate: float | None, ratio: float | None, best: float, left: float | None, done: str = "") -> str:
    """Return one line of at most 80 columns on a run; what is not known is left out.

    Args:
        rate: environment steps per second.
        ratio: the ratio of the last episodes.
        best: the best ratio of a validation; infinite before the first.
        left: seconds to the end of the run.
        done: what the run does beside updates, as ``"validation"``.
    """
    parts = [
        done,
        f"update {iteration}",
        "" if rate is None else f"{rate:.0f} steps/s",
        "" if ratio is None else f"ratio {ratio:.4f}",
        "" if best == float("inf") else f"best {best:.4f}",
        "" if left is None else f"{timedelta(seconds=round(left))} left",
    ]
    return ", ".join(filter(None, parts))
