# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The status of this user's servers on this machine."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from mlcb_gym.session.runtime_folder import STATUS, RuntimeFile, running

LENGTH = 400
"""Bytes of a status in its file, padded: the next one is written over it."""


@dataclass(frozen=True)
class ServerStatus:
    """The status of a server.

    Attributes:
        address: where it listens, as host:port.
        pid: its process.
        began: when, in seconds since 1970.
        workers: how many sessions at most.
        sessions: how many there are.
        refused: calls that were refused since: without the token, or without a place.
    """

    address: str
    pid: int
    began: float
    workers: int
    sessions: int = 0
    refused: int = 0

    @property
    def hours(self) -> float:
        """How long it has run."""
        return (time.time() - self.began) / 3600

    @property
    def processes(self) -> list[int]:
        """The workers, their episodes and clones, and what these run."""
        return list(_descendants(self.pid))

    @property
    def memory_bytes(self) -> int:
        """Memory of it and these; of what several share, each its part."""
        return sum(map(_proportional_bytes, (self.pid, *self.processes)))


class PublishedStatus:
    """The status of a server, where ``servers`` finds it. A context manager.

    Raises:
        TaskError: there is no place for it, or others may open that.
    """

    def __init__(self, first: ServerStatus) -> None:
        self._file = RuntimeFile()
        self._published: ServerStatus | None = None
        with ExitStack() as ends:
            ends.enter_context(self._file)
            self.update(first)
            self._file.publish(f"{first.address}{STATUS}")
            self._ends = ends.pop_all()

    def update(self, status: ServerStatus) -> None:
        """Publishes a status in place of the last, if it differs."""
        if status != self._published:
            self._file.write(json.dumps(asdict(status)).ljust(LENGTH))
        self._published = status

    def __enter__(self) -> "PublishedStatus":
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()


def servers() -> list[ServerStatus]:
    """Return the status of each of this user's servers that runs on this machine."""
    found = []
    for file in running(STATUS):
        with suppress(OSError, ValueError, TypeError):  # of one that has ended meanwhile, or of another version
            said = json.loads(file.read_text())
            found.append(ServerStatus(**{each.name: said[each.name] for each in fields(ServerStatus) if each.name in said}))
    return found


def _descendants(pid: int) -> Iterator[int]:
    with suppress(FileNotFoundError, ProcessLookupError):
        for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            yield child
            yield from _descendants(child)


def _proportional_bytes(pid: int) -> int:
    with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0
