# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Connections to a relay that never say anything sensible, beside clients that do: what these keep of their episodes per second."""

import random
import socket
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from itertools import pairwise

import psutil

from benchmarks.report import Figure
from mlcb_gym.session import RemoteSession
from scripts.attacks.player import START_SECONDS, Player
from tests.support.serving import serving

ENV_ID = "Inliner-v0"
CLIENTS = 2
ROUNDS = 4
PER_SECOND = 80
HELD = 800
"""Connections that are open at once; the relay closes others before."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""How a client of HTTP/2 begins, with empty settings."""
NOISE_BYTES = 3000


def _field(name: bytes, value: bytes) -> bytes:
    """A header of HTTP/2, written out."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def _call(stream: int) -> bytes:
    """A call of a relay's method, without a token."""
    fields = {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": b"/mlcb.v1.Channel/Stream",
        b":authority": b"relay",
        b"te": b"trailers",
        b"content-type": b"application/grpc",
    }
    headers = b"".join(_field(name, value) for name, value in fields.items())
    return len(headers).to_bytes(3) + b"\1\4" + stream.to_bytes(4) + headers


CALLS = PREFACE + b"".join(_call(2 * number + 1) for number in range(1000))
"""What a client says that calls without end: more than a relay hears from a stranger."""


class Crowd:
    """Hostile connections to an address, the oldest of which go when there are too many. A context manager, which closes them."""

    def __init__(self, uri: str, seed: int) -> None:
        host, _, port = uri.removeprefix("grpc://").partition(":")
        self._address, self._rng = (host, int(port)), random.Random(seed)
        self._open = deque[socket.socket]()
        self._slow = deque[tuple[socket.socket, int]]()
        self.opened = 0

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            self._open.popleft().close()

    def grow(self) -> None:
        """Open one more, of the next kind; one that is slow says one more byte."""
        if len(self._open) >= HELD:
            self._open.popleft().close()
        made = socket.socket()
        made.setblocking(False)
        made.connect_ex(self._address)
        self._open.append(made)
        with suppress(OSError):  # the relay may have closed it
            kinds = (self._silent, self._begins_slowly, self._noisy, self._half_open, self._calls)
            kinds[self.opened % len(kinds)](made)
        self.opened += 1
        self._go_on_slowly()

    def _silent(self, made: socket.socket) -> None:
        """Says nothing."""

    def _begins_slowly(self, made: socket.socket) -> None:
        self._slow.append((made, 0))

    def _noisy(self, made: socket.socket) -> None:
        made.send(PREFACE[: self._rng.choice([0, len(PREFACE)])] + self._rng.randbytes(self._rng.randrange(1, NOISE_BYTES)))

    def _half_open(self, made: socket.socket) -> None:
        made.send(PREFACE[: self._rng.randrange(len(PREFACE))])
        made.shutdown(socket.SHUT_WR)

    def _calls(self, made: socket.socket) -> None:
        made.send(CALLS)

    def _go_on_slowly(self) -> None:
        if not self._slow:
            return
        made, said = self._slow.popleft()
        with suppress(OSError):
            made.send(PREFACE[said : said + 1])
            if said + 1 < len(PREFACE):
                self._slow.append((made, said + 1))


def figures(connections: int, seed: int) -> Iterator[Figure]:
    """So many connections in rounds; between them the honest clients are alone."""
    per_round = max(1, connections // ROUNDS)
    seconds = per_round / PER_SECOND
    waits = list[float]()
    with serving("grpc://127.0.0.1:0", "--workers", str(CLIENTS + 2)) as served, ExitStack() as stack:
        players = [stack.enter_context(Player(ENV_ID, served.uri, {})) for _ in range(CLIENTS)]
        for player in players:
            player.recovered(0.0, START_SECONDS)
        relay, calm, opened = psutil.Process(served.process.pid), _seconds_to_begin(served.uri), 0
        alone, beside = [_look(relay, players, seconds)], list[Look]()
        for number in range(ROUNDS):
            with Crowd(served.uri, seed + number) as crowd:
                beside.append(_look(relay, players, seconds, crowd.grow, per_round))
                waits.append(_seconds_to_begin(served.uri))
                opened += crowd.opened
            alone.append(_look(relay, players, seconds))
        after = _seconds_to_begin(served.uri)
    ratios = [each.rate / statistics.mean((before.rate, behind.rate)) for each, (before, behind) in zip(beside, pairwise(alone), strict=True)]
    note = f"{CLIENTS} clients of {ENV_ID}, {ROUNDS} rounds of {seconds:.0f} s between two alone; {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
    yield Figure(
        "connections: silent, slow, noisy, half open, calling", opened, "", connections, higher=True, note=f"{PER_SECOND} a second, {HELD} at once"
    )
    yield Figure("episodes per second beside them / alone, median", statistics.median(ratios), "x", 0.9, 0.98, higher=True, note=note)
    work = f"{statistics.mean(look.share for look in alone):.3f} alone"
    yield Figure("the relay's work beside them", statistics.mean(look.share for look in beside), "of a core", note=work)
    yield Figure("a new session beside them, at most", max(waits), "s", note=f"{calm:.2f} s before them")
    yield Figure("a new session after them", after, "s", 5.0)


@dataclass(frozen=True)
class Look:
    """A while: the episodes per second of all players, and the share of a core that the relay itself used."""

    rate: float
    share: float


def _look(relay: psutil.Process, players: list[Player], seconds: float, act: Callable[[], None] = lambda: None, times: int = 0) -> Look:
    """Look for that time, or until the first episode, while something is done so often, evenly."""
    began, worked, done, played = time.monotonic(), _work(relay), 0, 0
    while (passed := time.monotonic() - began) < seconds or done < times or (not played and passed < START_SECONDS):
        while done < times and done <= times * passed / seconds:
            act()
            done += 1
        for player in players:
            played += sum(episode.error is None and episode.ended > began for episode in player.episodes(0.0))
        time.sleep(0.01)
    return Look(played / passed, (_work(relay) - worked) / passed)


def _work(relay: psutil.Process) -> float:
    times = relay.cpu_times()
    return times.user + times.system


def _seconds_to_begin(uri: str) -> float:
    """The time until a new session has a worker."""
    began = time.monotonic()
    with closing(RemoteSession(uri)) as session:
        session.configure("inliner", {})
    return time.monotonic() - began
