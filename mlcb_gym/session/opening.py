# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session from its URI, for command lines and files."""

import re
from urllib.parse import parse_qs, urlsplit

from mlcb_gym.errors import TaskError
from mlcb_gym.session.fleet import Fleet
from mlcb_gym.session.fork_server import ForkServerSession
from mlcb_gym.session.plugin import CHANNELS, PluginSession
from mlcb_gym.session.remote import RemoteSession
from mlcb_gym.session.session import Session
from mlcb_gym.session.worker import WorkerSession

REACH_SECONDS = 10.0
"""How long one of several workers is tried to be reached, before the others do without it."""


def open_session(uri: str) -> Session:
    """Opens a session, which is the caller's to close.

    Args:
        uri: ``worker:`` (a fork server), ``pipe:`` or ``shm:`` (a stock `opt` for each episode, reached over that), or ``grpc://HOST:PORT``
            (a worker behind `mlcb serve`), each with ``?serdes=json`` or ``protobuf``, ``worker:`` with ``?sandbox=whole``, ``partial`` or ``none``
            (see ``Sandbox``), and gRPC with its other options; or several workers, ``grpc://A:PORT,grpc://B:PORT``, which share the episodes
            (see ``Fleet``).

    Raises:
        TaskError: the URI is of another form, or has an option that its session has not.
    """
    uris = re.split(r",(?=\w+:)", uri)
    return _open(uri) if len(uris) == 1 else Fleet([_member(each) for each in uris])


def _member(uri: str) -> ForkServerSession:
    """Open a session that shares the episodes with others."""
    session = _open(uri, reach_seconds=REACH_SECONDS)
    if not isinstance(session, ForkServerSession):
        raise TaskError(f"session={uri!r}: expected worker: or grpc://HOST:PORT where there are several")
    return session


def _open(uri: str, reach_seconds: float | None = None) -> Session:
    split = urlsplit(uri)
    options = parse_qs(split.query, keep_blank_values=True)
    serializer = options.get("serdes", ["bitstream"])[-1]
    local = not (split.netloc or split.path or split.fragment) and bool(serializer)
    bare = local and options.keys() <= {"serdes"}
    if split.scheme == "grpc":
        return RemoteSession(uri, serializer=serializer, seconds=reach_seconds)
    if split.scheme in CHANNELS and bare:
        return PluginSession(channel=split.scheme, serializer=serializer)
    if split.scheme == "worker" and local and options.keys() <= {"serdes", "sandbox"}:
        return WorkerSession(serializer=serializer, sandbox=options.get("sandbox", [None])[-1])
    raise TaskError(f"session={uri!r}: expected worker:, pipe:, shm: or grpc://HOST:PORT")
