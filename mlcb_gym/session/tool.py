# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in LLVM's own `opt` with the plugin: a process for each, slower than the worker, which leaves the module that it made."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from mlcb_gym import _native, toolchain
from mlcb_gym.errors import CompilerError, SessionLost, TaskError
from mlcb_gym.session.episode import Episode, translated
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec, bind

START_SECONDS = 60.0
STOP_SECONDS = 5.0
POLL_SECONDS = 0.2

#: How a process ends that somebody else ended.
_KILLED = frozenset(-number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP))


class ToolSession:
    """An `opt` for each episode, over a pair of FIFOs in a temporary folder that goes with it.

    Args:
        keep: where the bitcode of an episode goes when it ends well; the last episode's is there.
        serializer: how tensors are written: bitstream, json or protobuf.
    """

    def __init__(self, *, keep: Path | None = None, serializer: str = "bitstream") -> None:
        self._keep, self._serializer = keep, serializer

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task; whether the compiler takes every parameter, an episode's beginning says."""
        return bind(task, parameters)

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts `opt` on the program.

        Raises:
            TaskError: the request asks for what a stock tool does not know.
        """
        if request != EpisodeRequest(request.program, request.metrics, request.measure, limits=request.limits, verify=request.verify):
            raise TaskError("a stock opt takes neither barred actions nor a target: use the worker")
        return ToolEpisode(spec, request, self._keep, self._serializer)

    def close(self) -> None:
        """Nothing is left: every `opt` ends with its episode."""


class ToolEpisode(Episode):
    """One run of `opt`."""

    def __init__(self, spec: TaskSpec, request: EpisodeRequest, keep: Path | None, serializer: str) -> None:
        self._keep = keep
        with translated(), ExitStack() as started:
            self._folder = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="mlcb-")))
            base = self._folder / "channel"
            for end in (".in", ".out"):
                os.mkfifo(f"{base}{end}")
            host = started.enter_context(_native.Host.fifo(str(base)))
            self._errors = started.enter_context((self._folder / "stderr").open("w+"))
            self._process = started.enter_context(
                _running(_command(spec, request, f"pipe:{base}?serdes={serializer}", self._folder / "out.bc"), self._errors)
            )
            super().__init__(host, spec, request, serializer)
            try:
                self._connect()
                host.hello(spec.task, json.dumps(spec.parameters), list(request.metrics), START_SECONDS, serializer, request.measure)
                self._begin_turn()
            except _native.NativeError as error:
                raise CompilerError(self._failure() or str(error)) from error
            self._resources = started.pop_all()

    def receive(self) -> _native.Message:
        try:
            message = super().receive()
        except SessionLost as lost:
            raise self._cause(lost) from lost.__cause__
        if message.kind == "episode_end":
            self._finish()
        return message

    def close(self) -> None:
        super().close()
        self._resources.close()

    def _left(self, kind: str) -> CompilerError | SessionLost:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        return CompilerError(self._failure() or f"opt said {kind!r} where an observation was due")

    def _cause(self, lost: SessionLost) -> CompilerError | SessionLost:
        """Why `opt` is lost: unless it was killed, or given up by then, it ended on what it was told to do."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        status = self._process.returncode
        if not status or status in _KILLED or self._errors.closed:
            return lost
        return CompilerError(f"opt crashed ({signal.Signals(-status).name})" if status < 0 else self._failure() or f"opt ended with {status}")

    def _connect(self) -> None:
        """Waits until `opt` opens the channel, as long as it lives."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self._host.connect(POLL_SECONDS)
            except _native.Timeout:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise

    def _finish(self) -> None:
        """Lets `opt` write its output, and keeps it."""
        self._host.close()
        try:
            status = self._process.wait(self._turn_seconds)
        except subprocess.TimeoutExpired:
            raise SessionLost(f"opt did not end within {self._turn_seconds:g} s of its last decision") from None
        if status != 0:
            raise CompilerError(self._failure() or f"opt ended with {status}")
        if self._keep is not None:
            with translated():
                shutil.move(self._folder / "out.bc", self._keep)

    def _failure(self) -> str | None:
        """The first line that `opt` wrote of an error."""
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors if line.strip()]
        return next((line for line in lines if "error" in line), lines[0] if lines else None)


def _command(spec: TaskSpec, request: EpisodeRequest, runner: str, output: Path) -> list[str | Path]:
    plugin = [f"-load-pass-plugin={toolchain.plugin()}", f"-passes={spec.task}", f"-mlcb-runner={runner}"]
    return [toolchain.tool("opt"), *plugin, request.program, "-o", output]


@contextmanager
def _running(command: list[str | Path], errors: IO[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The process, killed at the end if it has not ended by then."""
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=null, stdout=null, stderr=errors, env=toolchain.environment())
    try:
        yield process
    finally:
        process.kill()
        process.wait()
