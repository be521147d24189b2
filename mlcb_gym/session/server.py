# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A server for compilers that somebody else starts: a model in Python for any task."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mlcb_gym import _native
from mlcb_gym.errors import TaskError
from mlcb_gym.session.episode import translated
from mlcb_gym.session.remote import open_grpc
from mlcb_gym.spec import TaskSpec

Host = _native.LearnerEnd | _native.MlgoLearnerEnd
Model = Callable[[str, Mapping[str, Any]], int | float]


class ModelServer:
    """A server where compilers find a model. A context manager: the server ends with it.

    Args:
        uri: the URI of the compiler's runner, with its options (``?serdes=NAME`` where it is not bitstream): ``pipe:BASE``, the FIFOs
            ``BASE.in`` and ``BASE.out``, made where they do not exist, ``shm:PATH``, shared memory, or ``grpc://HOST:PORT``, where this end
            listens unless the URI says ``server=compiler`` (port 0 is any that is free; ``uri`` has it then); by default a pipe in a temporary
            folder. Or ``mlgo:BASE``, what an untouched opt, clang or llc has as ``-inliner-interactive-channel-base=BASE`` and the like: it spins
            if the server leaves it, and must be ended then.
        only: the name of the one task that is served, of a compiler that has several; by default the first one.
        task: for ``mlgo:``, the JSON that declares the compiler's task; every other compiler declares its own.

    Raises:
        TaskError: the URI is of another form, comes without the task that it needs, or is not allowed without TLS and a token.
        SessionLost: the port is taken.
    """

    def __init__(self, uri: str | None = None, *, task: str | None = None, only: str = "") -> None:
        with ExitStack() as made:
            self.uri = uri or f"pipe:{made.enter_context(tempfile.TemporaryDirectory(prefix='mlcb-'))}/channel"
            place = urlsplit(self.uri)
            options = dict(parse_qsl(place.query, keep_blank_values=True))
            self._serializer = options.get("serdes", "bitstream")
            self._host: Callable[[], Host]
            self._only = only
            if (place.scheme == "mlgo") != (task is not None) or (task and options):
                raise TaskError(f"a model server at {uri!r}: a task is declared for mlgo:BASE, and for nothing else")
            if place.scheme == "grpc":
                grpc = made.enter_context(closing(open_grpc(self.uri, listens=options.get("server") != "compiler")))
                self.uri, self._host = self.uri.replace(place.netloc, grpc.address, 1), grpc.host
            elif place.scheme in ("pipe", "shm", "mlgo") and place.path:
                if unknown := sorted(options.keys() - {"serdes", "timeout"}):
                    raise TaskError(f"a model server at {uri!r}: unknown option {unknown[0]!r}, expected serdes or timeout")
                self._host = _local(place.scheme, place.path, task)
                if place.scheme != "shm":
                    _make_fifos(place.path, made)
            else:
                raise TaskError(f"a model server at {uri!r}: expected pipe:BASE, shm:PATH, grpc://HOST:PORT or mlgo:BASE")
            self._made = made.pop_all()

    def answer(self, model: Model, *, seconds: float = 600.0) -> TaskSpec:
        """Advises the next compiler until it ends; returns its task, as it declared it.

        Args:
            model: from the name of the agent and its tensors by name to an index that the mask allows, or a value.
            seconds: how long to wait for the compiler, and for each of its turns.

        Raises:
            CompilerError: the compiler gave up, and sent the reason.
            SessionLost: no compiler came, or it is gone, exceeded its turn, or sent a message that is none.
        """
        with translated():
            listening = self._host()
        with listening as host:
            spec = self._greet(host, seconds)
            while (message := _next(host, seconds)).kind != "bye":
                if message.kind == "observation":
                    _advise(host, model(spec.agents[message.agent].name, message.tensors))
        return spec

    def close(self) -> None:
        """Removes what was made. May be called twice."""
        self._made.close()

    def _greet(self, host: Host, seconds: float) -> TaskSpec:
        """Waits for the compiler; returns its task."""
        with translated():
            if isinstance(host, _native.LearnerEnd):
                return TaskSpec(host.hello(self._only, "{}", [], seconds, self._serializer))
            host.connect(seconds)
            return TaskSpec(host.spec)

    def __enter__(self) -> "ModelServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _local(scheme: str, path: str, task: str | None) -> Callable[[], Host]:
    if task is not None:
        return partial(_native.MlgoLearnerEnd.fifo, path, task)
    return partial(_native.LearnerEnd.fifo if scheme == "pipe" else _native.LearnerEnd.shm, path)


def _make_fifos(base: str, made: ExitStack) -> None:
    for fifo in (Path(f"{base}.in"), Path(f"{base}.out")):
        if not fifo.exists():
            os.mkfifo(fifo, 0o600)
            made.callback(fifo.unlink, missing_ok=True)


def _advise(host: Host, advice: int | float) -> None:
    try:
        host.advise(advice)
    except _native.InvalidArgument:
        raise  # the model's own error
    except _native.NativeError:
        with translated():
            raise


def _next(host: Host, seconds: float) -> _native.Message:
    with translated():
        return host.receive(seconds)
