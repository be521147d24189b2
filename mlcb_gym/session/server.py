# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model's end for compilers that somebody else starts, in any language, of any task."""

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from mlcb_gym import _native
from mlcb_gym.errors import TaskError
from mlcb_gym.session.episode import translated
from mlcb_gym.spec import TaskSpec

Host = _native.Host | _native.MlgoHost
Model = Callable[[str, Mapping[str, Any]], int | float]


class ModelServer:
    """A place where compilers find a model. A context manager: the place goes with it.

    Args:
        uri: what the compiler's runner is told, with its options (``?serdes=NAME`` where it is not bitstream): ``pipe:BASE``, the FIFOs
            ``BASE.in`` and ``BASE.out``, made where they do not exist, or ``shm:PATH``, shared memory; by default a pipe in a temporary
            folder. Or ``mlgo:BASE``, what an untouched opt, clang or llc has as ``-inliner-interactive-channel-base=BASE`` and the like: it spins
            if the server leaves it, and must be ended then.
        task: for ``mlgo:``, the JSON that declares what such a compiler asks; every other declares its own.

    Raises:
        TaskError: the URI is of another form, or comes without the task that it needs.
    """

    def __init__(self, uri: str | None = None, *, task: str | None = None) -> None:
        with ExitStack() as made:
            self.uri = uri or f"pipe:{made.enter_context(tempfile.TemporaryDirectory(prefix='mlcb-'))}/channel"
            asked = re.fullmatch(r"(pipe|shm|mlgo):([^?]+)(?:\?(.*))?", self.uri)
            if asked is None:
                raise TaskError(f"a model server at {uri!r}: expected pipe:BASE, shm:PATH or mlgo:BASE")
            if (asked[1] == "mlgo") != (task is not None) or (task and asked[3]):
                raise TaskError(f"a model server at {uri!r}: a task is declared for mlgo:BASE, and for nothing else")
            self._task = task
            self._scheme, self._path = asked[1], asked[2]
            options = dict(parse_qsl(asked[3] or "", keep_blank_values=True))
            self._serializer = options.pop("serdes", "bitstream")
            if unknown := sorted(set(options) - {"timeout"}):
                raise TaskError(f"a model server at {uri!r}: unknown option {unknown[0]!r}, expected serdes or timeout")
            if self._scheme != "shm":
                for fifo in (Path(f"{self._path}.in"), Path(f"{self._path}.out")):
                    if not fifo.exists():
                        os.mkfifo(fifo, 0o600)
                        made.callback(fifo.unlink, missing_ok=True)
            self._made = made.pop_all()

    def answer(self, model: Model, *, seconds: float = 600.0) -> TaskSpec:
        """Answers all questions of the next compiler, until it says goodbye; returns its task, as it declared it.

        Args:
            model: gets the name of the agent that is asked and its tensors by name; gives an index that the mask allows, or a value.
            seconds: how long to wait for the compiler, and for each of its turns.

        Raises:
            CompilerError: the compiler said why it gave up.
            SessionLost: no compiler came, or it left without a word, was silent too long, or talked nonsense.
        """
        with self._listen() as host:
            spec = self._greet(host, seconds)
            while (message := _next(host, seconds)).kind != "bye":
                if message.kind == "observation":
                    _advise(host, model(spec.agents[message.agent].name, message.tensors))
        return spec

    def close(self) -> None:
        """Removes what was made. May be called twice."""
        self._made.close()

    def _listen(self) -> Host:
        with translated():
            if self._task is not None:
                return _native.MlgoHost.fifo(self._path, self._task)
            return _native.Host.fifo(self._path) if self._scheme == "pipe" else _native.Host.shm(self._path)

    def _greet(self, host: Host, seconds: float) -> TaskSpec:
        """Waits for the compiler; its task."""
        with translated():
            if isinstance(host, _native.Host):
                return TaskSpec(host.hello("", "{}", [], seconds, self._serializer))
            host.connect(seconds)
            return TaskSpec(host.spec)

    def __enter__(self) -> "ModelServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
