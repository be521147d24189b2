# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C during a run: the first ends it after the update under way, the second at once."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self


class Interruption:
    """A context manager that takes over SIGINT, where that is Python's own and this is the main thread.

    Args:
        announce: called on the first one.
    """

    def __init__(self, announce: Callable[[], None]) -> None:
        self.asked = False
        self._announce = announce
        self._previous: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._previous = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self._announce()
