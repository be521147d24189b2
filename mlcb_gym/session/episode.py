# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One episode of a compiler: advice in, observations out, until it ends, fails, or is lost."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from mlcb_gym import _native
from mlcb_gym.errors import CompilerError, SessionLost, TaskError
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec

HEARING_SECONDS = 1.0
"""How long a compiler may still speak when it is asked late for an answer that was due."""


class Episode:
    """The learner's end of an episode.

    A turn of the compiler begins with the episode, and with every advice; it has its deadline from there. ``cache`` counts what a worker's
    cache of sizes answered in all episodes before this one; it is there with the first message.

    Args:
        host: the channel to the compiler, which is about to speak; it is the episode's from now on.
        spec: the task as bound at both ends.
        request: what the compiler was told at its start.
        serializer: that of the channel, for the channels of its clones.
        local: whether the compiler is a process of this machine, which can be killed.
        give_up: called when the compiler let its first turn pass without so much as saying who it is: what starts compilers is stuck.
    """

    def __init__(
        self,
        host: _native.LearnerEnd | _native.MlgoLearnerEnd,
        spec: TaskSpec,
        request: EpisodeRequest,
        serializer: str = "bitstream",
        *,
        local: bool = True,
        give_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._host, self._serializer, self._local, self._give_up = host, serializer, local, give_up
        self._spec, self._request, self._turn_seconds = spec, request, request.limits.deadline
        self.cache: Mapping[str, int] = {}
        self._child: int | None = None
        self._introduced = False  # has said who it is
        self._heard: _native.Message | None = None
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
        local: bool = True,
        give_up: Callable[[], None] = lambda: None,
    ) -> "Episode":
        """An episode on a connected Unix socket, which it takes over."""
        host = _native.LearnerEnd(socket, spec.json, list(request.metrics), request.measure, serializer)
        return cls(host, spec, request, serializer, local=local, give_up=give_up)

    def receive(self) -> _native.Message:
        """The compiler's next observation, or the end of the episode.

        Raises:
            CompilerError: the compiler failed on what it was told to do, and said why.
            SessionLost: the compiler is gone, silent beyond its limit, or talks nonsense.
        """
        if self._fault is not None:
            raise self._fault
        while self._heard is None:
            self._heard = self._hear()
        message, self._heard = self._heard, None
        return self._understood(message)

    def ready(self) -> bool:
        """Whether ``receive`` returns or raises at once; while it does not, what the compiler says makes ``fileno`` readable."""
        try:
            with translated():
                while self._heard is None and self._fault is None and self._host.readable():
                    self._heard = self._hear()
        except (CompilerError, SessionLost) as error:
            self._fault = error
        return self._heard is not None or self._fault is not None or time.monotonic() > self._turn_ends

    def fileno(self) -> int:
        """What to wait on until ``ready``, as a selector does."""
        return self._host.fileno()

    def advise(self, advice: int | float) -> None:
        """Answers the last observation. Whether the compiler is still there, ``receive`` says."""
        self._tell(partial(self._host.advise, advice))

    def delegate(self, models: Sequence[bytes]) -> None:
        """Leaves the last observation, and all that would follow it, to models in the compiler; what comes next is the end.

        Args:
            models: the contents of an ONNX file for each agent.

        Raises:
            TaskError: the compiler takes none, as a stock one; or they are not one for each agent.
        """
        if not isinstance(self._host, _native.LearnerEnd):
            raise TaskError(f"{self._spec.task}: a stock compiler takes no models, expected a worker")
        if len(models) != len(self._spec.agents):
            raise TaskError(f"{self._spec.task}: {len(models)} models, expected {len(self._spec.agents)}: one for each agent")
        self._tell(partial(self._host.delegate, models))

    def fork(self) -> "Episode":
        """A clone of the compiler at this very decision; its first message is the observation that this episode had last.

        Raises:
            SessionLost: the compiler is gone.
        """
        assert isinstance(self._host, _native.LearnerEnd)
        with translated():
            return Episode.on_socket(self._host.fork(), self._spec, self._request, self._serializer, local=self._local)

    def successor(self) -> None:
        """Return None: nothing follows the end of a program."""

    def close(self) -> None:
        """Closes the channel, which ends the compiler's child; a stopped one would not see it, and is killed. May be called twice."""
        self._host.close()
        if self._child is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._child, signal.SIGKILL)
            os.close(self._child)
            self._child = None

    def _understood(self, message: _native.Message) -> _native.Message:
        """A state; anything else ends the conversation."""
        if message.kind not in ("observation", "episode_end"):
            raise self._left(message.kind)
        return message

    def _left(self, kind: str) -> CompilerError | SessionLost:
        """What it means that the compiler said something else than a state."""
        return SessionLost(f"the compiler said {kind!r} where an observation was due")

    def _silent(self) -> CompilerError | SessionLost:
        """Gives up a compiler that let its turn pass without a word; says what that means."""
        self.close()
        if not self._introduced:
            self._give_up()
        return SessionLost(f"the compiler was silent for {self._turn_seconds:g} s")

    def _tell(self, say: Callable[[], None]) -> None:
        """Ends our turn; what comes of it, ``receive`` says."""
        try:
            with translated():
                say()
        except (CompilerError, SessionLost) as error:
            self._fault = error
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._turn_ends = time.monotonic() + self._turn_seconds

    def _hear(self) -> _native.Message | None:
        """The compiler's next message; None for the first one of a worker's child, which says who it is."""
        with translated():
            try:
                message = self._host.receive(max(self._turn_ends - time.monotonic(), HEARING_SECONDS))
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
        """Keeps hold of the child: its number alone may be another process's by the time it is needed."""
        if self._local and pid != os.getpid():  # a scripted compiler is a thread of ours
            with suppress(ProcessLookupError):
                self._child = os.pidfd_open(pid)


def _introduction(begin: str) -> tuple[int, Mapping[str, int]]:
    """The process id, and what the cache answered."""
    try:
        said = json.loads(begin)
        return int(said["pid"]), dict(said.get("cache", {}))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SessionLost(f"the compiler said {begin!r} where its process id was due") from error


@contextmanager
def translated() -> Iterator[None]:
    """Errors of the channel, and of a machine that has no more to give, as errors of the package."""
    try:
        yield
    except _native.PeerError as error:
        raise CompilerError(str(error)) from error
    except (_native.NativeError, OSError) as error:
        raise SessionLost(str(error)) from error
