# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kernel says of processes: whether anything is left of them."""

import os
import select
import signal
import time
from pathlib import Path

END_SECONDS = 10.0


def listed(pid: int | None) -> list[int]:
    """The children as the kernel lists them: one that has ended is listed for a moment more."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def children(pid: int | None) -> list[int]:
    """The children that run."""
    return [child for child in listed(pid) if runs(child)]


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def left(pid: int | None, count: int) -> list[int]:
    """The children, once there are that many."""
    until = time.monotonic() + END_SECONDS
    while len(found := listed(pid)) != count and time.monotonic() < until:
        time.sleep(0.01)
    assert len(found) == count
    return found


def signal_only(pids: list[int], number: signal.Signals) -> None:
    """Sends a signal to the only one of these processes."""
    (pid,) = pids
    os.kill(pid, number)


def descriptors(pid: int | str | None) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def no_more_descriptors(before: int, pid: int | str | None = "self") -> bool:
    """Whether the process comes to have no more than before: other threads open files for moments."""
    until = time.monotonic() + END_SECONDS
    while descriptors(pid) > before and time.monotonic() < until:
        time.sleep(0.01)
    return descriptors(pid) <= before


def ends(watched: list[int]) -> bool:
    """Whether the processes of these pidfds end in time; closes the pidfds."""
    ended = [bool(select.select([fd], [], [], END_SECONDS)[0]) for fd in watched]
    for fd in watched:
        os.close(fd)
    return all(ended)
