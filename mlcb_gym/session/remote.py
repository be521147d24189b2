# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in the workers of another machine, behind `mlcb serve`."""

import time
from base64 import b64encode

from mlcb_gym import _native
from mlcb_gym.errors import ProgramError, TaskError
from mlcb_gym.session.episode import translated
from mlcb_gym.session.fork_server import START_SECONDS, ForkServerSession
from mlcb_gym.session.local_token import published, with_token
from mlcb_gym.session.request import EpisodeRequest

PUBLISH_SECONDS, POLL_SECONDS = 2.0, 0.05


class RemoteSession(ForkServerSession):
    """A worker of its own at a relay, over gRPC: an episode is a stream, and so is each clone.

    Programs travel as bytes, so that nothing of this machine need be there.

    Args:
        uri: ``grpc://HOST:PORT?ca=FILE&token=FILE``, the options as docs/protocol.md has them; on loopback the token of a server of
            this user is found (see ``local_token``).
        serializer: how tensors are written: bitstream, json or protobuf.
        seconds: how long to try to reach the relay; by default ``START_SECONDS``.

    Raises:
        TaskError: the URI is of another form, or not allowed without TLS and a token.
    """

    def __init__(self, uri: str, *, serializer: str = "bitstream", seconds: float | None = None) -> None:
        super().__init__(serializer=serializer, name=uri.partition("?")[0])
        self._uri, self._seconds = uri, seconds
        open_grpc(uri, listens=False)  # tells whether it may be called

    def _reach(self) -> _native.LearnerEnd:
        until = time.monotonic() + (START_SECONDS if self._seconds is None else self._seconds)
        while True:
            before = published(self._uri)
            try:
                return self._call(with_token(self._uri), until)
            except _native.PeerError:
                if not self._is_published_since(before):
                    raise

    def _call(self, uri: str, until: float) -> _native.LearnerEnd:
        try:
            place = open_grpc(uri, listens=False)
        except TaskError:  # the server has ended meanwhile, and its token with it
            place = open_grpc(self._uri, listens=False)
        self._control = control = place.host()  # so that close ends the wait
        try:
            control.connect(max(until - time.monotonic(), 0.0))
        except _native.PeerError:
            control.close()
            raise
        return control

    def _is_published_since(self, before: int | None) -> bool:
        """Whether there is another token than before: a server publishes its own a moment after it listens."""
        until = time.monotonic() + PUBLISH_SECONDS
        while (now := published(self._uri)) in (None, before) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return now not in (None, before)

    def _program(self, request: EpisodeRequest) -> dict[str, str]:
        try:
            bitcode = request.program.read_bytes()
        except OSError as error:
            raise ProgramError(f"{request.program}: {error.strerror}") from error
        return {"program": request.program.name, "bitcode": b64encode(bitcode).decode()}


def open_grpc(uri: str, *, listens: bool, episodes: int | None = None, idle_seconds: float = 0.0) -> _native.Grpc:
    """An end of a ``grpc://HOST:PORT``.

    Args:
        uri: the place, with its options.
        listens: whether this end is called.
        episodes: how many a server allows a connection at once; by default more than a machine can bear.
        idle_seconds: after which a server closes a connection on which nothing was said; never if 0.

    Raises:
        TaskError: the URI is of another form, or not allowed without TLS and a token.
        SessionLost: the port is taken.
    """
    with translated():
        try:
            return _native.Grpc(uri, listens, episodes, idle_seconds)
        except _native.InvalidArgument as error:
            raise TaskError(str(error)) from error
