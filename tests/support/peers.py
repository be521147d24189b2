# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The other end of a conversation, made from docs/protocol.md alone: byte by byte, in a process of its own that may be killed anywhere."""

import fcntl
import os
import signal
import socket
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from mmap import mmap
from pathlib import Path

HEADER = struct.Struct("<4sBBBBII")
HELLO, BEGIN, OBSERVATION, ADVICE, EPISODE_END, FORK, ERROR, BYE = range(1, 9)
PATIENCE = 10.0


class Wire(ABC):
    """A connected channel. Frames that are sent are counted."""

    sent = 0

    @abstractmethod
    def write(self, data: bytes) -> None: ...

    @abstractmethod
    def read(self, size: int) -> bytes: ...

    @abstractmethod
    def mute(self) -> None:
        """Closes the half that writes."""

    def frame(self, kind: int, payload: bytes = b"") -> bytes:
        self.sent += 1
        return HEADER.pack(b"MLCB", 1, kind, 0, 0, self.sent - 1, len(payload)) + payload

    def hear(self) -> tuple[int, bytes]:
        """The kind and the payload of the next frame."""
        _, _, kind, _, _, _, length = HEADER.unpack(self.read(HEADER.size))
        return kind, self.read(length)


class Fifos(Wire):
    def __init__(self, incoming: int, outgoing: int) -> None:
        self._in, self._out = incoming, outgoing

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._out, data) :]

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += os.read(self._in, size - len(data)) or _gone()
        return data

    def mute(self) -> None:
        os.close(self._out)

    def deafen(self) -> None:
        """Closes the half that reads."""
        os.close(self._in)


class Socket(Wire):
    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def write_with(self, data: bytes, descriptor: int) -> None:
        socket.send_fds(self._socket, [data], [descriptor])

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self._socket.recv(size - len(data)) or _gone()
        return data

    def mute(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)


class SharedMemory(Wire):
    """Two rings as native/channel/Ring.h lays them out; what is said here fits without going round."""

    CAPACITY = 512 << 10
    RING = 128 + CAPACITY
    SIZE = 2 * RING
    WRITTEN, READ, READER_SLEEPS, BYTES = 0, 64, 72, 128
    SEALS = 1 | 2 | 4

    def __init__(self, connected: socket.socket, memory: int, *, incoming: int, outgoing: int) -> None:
        self._socket = connected
        self._memory = mmap(memory, self.SIZE)
        whole = memoryview(self._memory)
        self._counts, self._flags = whole.cast("Q"), whole.cast("I")  # each is stored at once, as struct does not
        self._in, self._out = incoming * self.RING, outgoing * self.RING
        self._read = 0

    @classmethod
    def taken(cls, connected: socket.socket) -> "SharedMemory":
        """The compiler's end."""
        _, (memory,), _, _ = socket.recv_fds(connected, 1, 1)
        return cls(connected, memory, incoming=0, outgoing=1)

    @classmethod
    def offered(cls, connected: socket.socket) -> "SharedMemory":
        """The learner's end."""
        memory = os.memfd_create("peer", os.MFD_ALLOW_SEALING)
        os.posix_fallocate(memory, 0, cls.SIZE)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, cls.SEALS)
        socket.send_fds(connected, [b"\0"], [memory])
        return cls(connected, memory, incoming=1, outgoing=0)

    def write(self, data: bytes) -> None:
        written = self._count(self._out + self.WRITTEN)
        start = self._out + self.BYTES + written
        self._memory[start : start + len(data)] = data
        self._counts[(self._out + self.WRITTEN) // 8] = written + len(data)
        if self._flags[(self._out + self.READER_SLEEPS) // 4]:
            self._flags[(self._out + self.READER_SLEEPS) // 4] = 0
            with suppress(BrokenPipeError):  # read without the bell, and answered, and closed
                self._socket.send(b"\0")

    def read(self, size: int) -> bytes:
        ended = False
        while self._count(self._in + self.WRITTEN) < self._read + size:
            if ended:
                _gone()
            self._flags[(self._in + self.READER_SLEEPS) // 4] = 1
            if self._count(self._in + self.WRITTEN) < self._read + size:
                ended = not self._socket.recv(64)
        start = self._in + self.BYTES + self._read
        self._read += size
        return self._memory[start : start + size]

    def mute(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def _count(self, at: int) -> int:
        return self._counts[at // 8]


Arrival = Iterator[Wire | None]
"""First nothing, halfway in, then the wire."""


def fifo_compiler(base: Path) -> Arrival:
    return _fifo_end(f"{base}.in", f"{base}.out")


def fifo_learner(base: Path) -> Arrival:
    return _fifo_end(f"{base}.out", f"{base}.in")


def _fifo_end(incoming: str, outgoing: str) -> Arrival:
    halfway = os.open(incoming, os.O_RDONLY | os.O_NONBLOCK)
    yield None
    heard = os.open(incoming, os.O_RDONLY)
    os.close(halfway)
    yield Fifos(heard, os.open(outgoing, os.O_WRONLY))


def shm_compiler(path: Path) -> Arrival:
    connected = _connected(path)
    yield None
    yield SharedMemory.taken(connected)


def shm_learner(path: Path) -> Arrival:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        connected, _ = listener.accept()
    yield None
    yield SharedMemory.offered(connected)


def socket_end(end: socket.socket) -> Arrival:
    yield None
    yield Socket(end)


@contextmanager
def another_process(play: Callable[[], None]) -> Iterator[int]:
    """The id of a child that plays its part and then sleeps; killed at the end."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            signal.alarm(60)
            play()
            signal.pause()
        os._exit(1)
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


def _connected(path: Path) -> socket.socket:
    """Whichever comes first waits for the other."""
    deadline = time.monotonic() + PATIENCE
    while True:
        tried = socket.socket(socket.AF_UNIX)
        try:
            tried.connect(str(path))
            return tried
        except (FileNotFoundError, ConnectionRefusedError):
            tried.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)


def _gone() -> bytes:
    raise EOFError("the end under test closed the channel")
