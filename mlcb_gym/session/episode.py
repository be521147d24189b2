# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One episode of a compiler: advice in, observations out, until it ends, fails, or is lost."""

import contextlib
import json
import os
import signal

from mlcb_gym import _native
from mlcb_gym.errors import CompilerError, SessionLost
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec


class Episode:
    """The learner's end of an episode.

    Args:
        host: the channel to the compiler, which is about to speak; it is the episode's from now on.
        spec: the task as bound at both ends.
        request: what the compiler was told at its start.
    """

    def __init__(self, host: _native.Host, spec: TaskSpec, request: EpisodeRequest) -> None:
        self._host = host
        self._spec, self._request, self._turn_seconds = spec, request, request.limits.deadline
        self._pid: int | None = None

    @classmethod
    def on_socket(cls, socket: int, spec: TaskSpec, request: EpisodeRequest) -> "Episode":
        """An episode on a connected Unix socket, which it takes over."""
        return cls(_native.Host(socket, spec.json, list(request.metrics), request.measure), spec, request)

    def receive(self) -> _native.Message:
        """The compiler's next observation, or the end of the episode.

        Raises:
            CompilerError: the compiler failed on what it was told to do, and said why.
            SessionLost: the compiler is gone, silent beyond its limit, or talks nonsense.
        """
        try:
            message = self._host.receive(self._turn_seconds)
            if message.kind == "begin":
                self._pid = json.loads(message.text or "{}")["pid"]
                message = self._host.receive(self._turn_seconds)
            return message
        except _native.PeerError as error:
            raise CompilerError(str(error)) from error
        except _native.NativeError as error:
            self._kill()
            raise SessionLost(str(error)) from error

    def advise(self, advice: int | float) -> None:
        """Answers the last observation. Whether the compiler is still there, ``receive`` says."""
        with contextlib.suppress(_native.PeerGone):
            self._host.advise(advice)

    def fork(self) -> "Episode":
        """A clone of the compiler at this very decision; its first message is the observation that this episode had last."""
        return Episode.on_socket(self._host.fork(), self._spec, self._request)

    def close(self) -> None:
        """Closes the channel, which ends the compiler's child."""
        self._host.close()

    def _kill(self) -> None:
        """Ends a child that no longer listens: a stopped process does not see its channel close."""
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        self.close()
