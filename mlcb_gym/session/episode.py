# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One episode of a compiler: advice in, observations out, until it ends, fails, or is lost."""

import json
import os
import signal
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from types import TracebackType

from mlcb_gym import _native
from mlcb_gym.errors import CompilerError, SessionLost, TaskError
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec

LATE_SECONDS = 1.0
"""Seconds that a message may still take when ``receive`` is called after its deadline."""


class Episode:
    """The learner's end of an episode.

    A turn of the compiler begins with the episode, and with every advice; its deadline counts from there. ``cache`` has the hits and misses of a
    worker's cache of sizes in all episodes before this one, from the first message on.

    Args:
        host: the channel to the compiler, which sends the next message; the episode owns it from now on.
        spec: the task as bound at both ends.
        request: the request that the episode was started with.
        serializer: that of the channel, for the channels of its clones.
        is_child: whether a process of this machine, by its id, may be the compiler, which ``close`` kills.
        give_up: called when not even the message that introduces the compiler came in the first turn: the process that starts compilers is stuck.
    """

    def __init__(
        self,
        host: _native.LearnerEnd | _native.MlgoLearnerEnd,
        spec: TaskSpec,
        request: EpisodeRequest,
        serializer: str = "bitstream",
        *,
        is_child: Callable[[int], bool] = lambda pid: True,
        give_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._host, self._serializer, self._is_child, self._give_up = host, serializer, is_child, give_up
        self._spec, self._request, self._turn_seconds = spec, request, request.limits.deadline
        self.cache: Mapping[str, int] = {}
        self._child: weakref.finalize[[int], Episode] | None = None  # closes its pidfd, also where nobody calls close
        self._introduced = False  # whether the message with its process id came
        self._received: _native.Message | None = None
        self._fault: CompilerError | SessionLost | None = None
        self._begin_turn()

    @classmethod
    def on_socket(
        cls,
        socket: int,
        spec: TaskSpec,
        request: EpisodeRequest,
        serializer: str = "bitstream",
        *,
        is_child: Callable[[int], bool] = lambda pid: True,
        give_up: Callable[[], None] = lambda: None,
    ) -> "Episode":
        """Return an episode on a connected Unix socket, which it owns from now on."""
        host = _native.LearnerEnd(socket, spec.json, list(request.metrics), request.measure, serializer)
        return cls(host, spec, request, serializer, is_child=is_child, give_up=give_up)

    def receive(self) -> _native.Message:
        """Return the next observation, or the end of the episode.

        Raises:
            CompilerError: the compiler failed on what it was advised, and sent the reason.
            SessionLost: the compiler is gone, exceeded its turn, or sent a message that is none.
        """
        if self._fault is not None:
            raise self._fault
        while self._received is None:
            self._received = self._receive()
        message, self._received = self._received, None
        return self._understood(message)

    def ready(self) -> bool:
        """Whether ``receive`` returns or raises at once. While it does not, a message of the compiler makes ``fileno`` readable."""
        try:
            with translated():
                while self._received is None and self._fault is None and self._host.readable():
                    self._received = self._receive()
        except (CompilerError, SessionLost) as error:
            self._fault = error
        return self._received is not None or self._fault is not None or time.monotonic() > self._turn_ends

    def fileno(self) -> int:
        """Return the descriptor to wait on until ``ready``, as a selector does."""
        return self._host.fileno()

    def advise(self, advice: int | float) -> None:
        """Sends advice for the last observation. A compiler that is gone is an error of ``receive``."""
        self._send(partial(self._host.advise, advice))

    def delegate(self, models: Sequence[bytes]) -> None:
        """Lets models in the compiler take this decision and all that follow; the next message is the end.

        Args:
            models: the contents of an ONNX file for each agent.

        Raises:
            TaskError: the compiler takes none, as a stock one; or they are not one for each agent.
        """
        if not isinstance(self._host, _native.LearnerEnd):
            raise TaskError(f"{self._spec.task}: a stock compiler takes no models, expected a worker")
        if len(models) != len(self._spec.agents):
            raise TaskError(f"{self._spec.task}: {len(models)} models, expected {len(self._spec.agents)}: one for each agent")
        self._send(partial(self._host.delegate, models))

    def fork(self) -> "Episode":
        """Return an episode in a clone of the compiler at this decision; its first message is the observation that this episode had last.

        Raises:
            SessionLost: the compiler is gone.
        """
        assert isinstance(self._host, _native.LearnerEnd)
        with translated():
            return Episode.on_socket(self._host.fork(), self._spec, self._request, self._serializer, is_child=self._is_child)

    def successor(self) -> None:
        """Return None: nothing follows the end of a program."""

    def close(self) -> None:
        """Closes the channel, which ends the compiler's child; a stopped one would not see it, and is killed. May be called twice."""
        self._host.close()
        child, self._child = self._child, None
        if child is not None:
            _kill(child)

    def _understood(self, message: _native.Message) -> _native.Message:
        """Return an observation or an end; any other message ends the episode with an error."""
        if message.kind not in ("observation", "episode_end"):
            raise self._left(message.kind)
        return message

    def _left(self, kind: str) -> CompilerError | SessionLost:
        """Return the error for a message that is neither an observation nor an end."""
        return SessionLost(f"the compiler said {kind!r} where an observation was due")

    def _silent(self) -> CompilerError | SessionLost:
        """Gives up a compiler that exceeded its turn; returns the error."""
        self.close()
        if not self._introduced:
            self._give_up()
        return SessionLost(f"the compiler was silent for {self._turn_seconds:g} s")

    def _send(self, send: Callable[[], None]) -> None:
        """Sends a message, which ends the learner's turn; a failure is an error of ``receive``."""
        try:
            with translated():
                send()
        except (CompilerError, SessionLost) as error:
            self._fault = error
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._turn_ends = time.monotonic() + self._turn_seconds

    def _receive(self) -> _native.Message | None:
        """Return the next message; None for the first one of a worker's child, which has its process id."""
        with translated():
            try:
                message = self._host.receive(max(self._turn_ends - time.monotonic(), LATE_SECONDS))
            except _native.Timeout as error:
                raise self._silent() from error
        if message.kind != "begin" or self._introduced:
            return message
        self._introduced = True
        pid, self.cache = _introduction(message.text or "{}")
        with translated():
            self._watch(pid)
        self._begin_turn()
        return None

    def _watch(self, pid: int) -> None:
        """Opens the child's process: its number alone may belong to another process by the time it is needed."""
        if pid == os.getpid():
            return  # a scripted compiler is a thread of ours
        with suppress(ProcessLookupError, OverflowError):
            opened = weakref.finalize(self, os.close, os.pidfd_open(pid))
            if self._is_child(pid):
                self._child = opened
            else:
                opened()


def _kill(child: "weakref.finalize[[int], Episode]") -> None:
    """Ends a process, and closes its descriptor, which is closed already where the interpreter ends."""
    if kept := child.peek():
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(kept[2][0], signal.SIGKILL)
    child()


def _introduction(begin: str) -> tuple[int, Mapping[str, int]]:
    """Return the process id, and the counts of the cache."""
    try:
        said = json.loads(begin)
        return int(said["pid"]), dict(said.get("cache", {}))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise SessionLost(f"the compiler said {begin[:200]!r} where its process id was due") from error


class translated(AbstractContextManager[None]):
    """Raises errors of the channel, and of a machine without resources, as errors of this package.

    A class, because a generator would cost as much as the message itself.
    """

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, _native.PeerError):
            raise CompilerError(str(error)) from error
        if isinstance(error, _native.NativeError | OSError):
            raise SessionLost(str(error)) from error
