# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in LLVM's own `opt` with the plugin: a process for each, slower than the worker, whose output can be kept."""

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from mlcb_gym import _native, toolchain
from mlcb_gym.errors import CompilerError, SessionLost, TaskError
from mlcb_gym.session.episode import Episode, translated
from mlcb_gym.session.request import EpisodeRequest, Target
from mlcb_gym.session.tool_process import STOP_SECONDS, ToolProcess
from mlcb_gym.spec import TaskSpec, bind

START_SECONDS = 60.0
POLL_SECONDS = 0.2

CHANNELS = {"pipe": _native.LearnerEnd.fifo, "shm": _native.LearnerEnd.shm}
"""The kinds of channel to `opt`: the learner's end of each, at a path."""


class PluginSession:
    """An `opt` for each episode, over FIFOs or shared memory in a temporary folder that goes with it.

    Args:
        keep: the file that the bitcode of an episode is moved to, when it ends without an error.
        channel: one of ``CHANNELS``.
        serializer: how tensors are written: bitstream, json or protobuf.
    """

    takes_models: ClassVar[bool] = True

    def __init__(self, *, keep: Path | None = None, channel: str = "pipe", serializer: str = "bitstream") -> None:
        self._keep, self._channel, self._serializer = keep, channel, serializer

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task; a parameter that the compiler does not take is an error of an episode's first message."""
        return bind(task, parameters)

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts `opt` on the program.

        Raises:
            TaskError: the request has fields that a stock tool does not know.
        """
        if replace(request, forbidden=(), target=Target(), verify=False) != request:
            raise TaskError("a stock opt takes no forbidden actions and no target, and verifies only what it writes: use the worker")
        return PluginEpisode(spec, request, self._keep, self._channel, self._serializer)

    def close(self) -> None:
        """Does nothing: every `opt` ends with its episode."""


class PluginEpisode(Episode):
    """One run of `opt`."""

    def __init__(self, spec: TaskSpec, request: EpisodeRequest, keep: Path | None, channel: str, serializer: str) -> None:
        self._keep = keep

        def arguments(base: Path, output: Path) -> list[str | Path]:
            plugin = [f"-load-pass-plugin={toolchain.plugin()}", f"-passes={spec.task}", f"-mlcb-runner={channel}:{base}?serdes={serializer}"]
            return [*plugin, request.program, "-o", output]

        with translated(), ExitStack() as started:
            self._tool = ToolProcess("opt", arguments, request.limits)
            started.callback(self._tool.close)
            host = CHANNELS[channel](str(self._tool.base))
            started.callback(host.close)
            super().__init__(host, spec, request, serializer)
            try:
                self._connect(host)
                host.hello(spec.task, json.dumps(spec.parameters), list(request.metrics), START_SECONDS, serializer, request.measure)
                self._begin_turn()
            except _native.NativeError as error:
                raise self._tool.cause(SessionLost(str(error))) from error
            started.pop_all()

    def receive(self) -> _native.Message:
        try:
            message = super().receive()
        except SessionLost as lost:
            raise self._tool.cause(lost) from lost.__cause__
        if message.kind == "episode_end":
            self._host.close()
            self._tool.finish(self._turn_seconds)
            self._tool.keep(self._keep)
        return message

    def close(self) -> None:
        super().close()
        self._tool.close()

    def _left(self, kind: str) -> CompilerError | SessionLost:
        with suppress(CompilerError, SessionLost):
            self._tool.finish(STOP_SECONDS)
        return CompilerError(self._tool.failure() or f"opt said {kind!r} where an observation was due")

    def _silent(self) -> CompilerError | SessionLost:
        late = self._tool.late(self._turn_seconds)
        lost = super()._silent()
        return late or lost

    def _connect(self, host: _native.LearnerEnd) -> None:
        """Waits until `opt` opens the channel, as long as it lives."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return host.connect(POLL_SECONDS)
            except _native.Timeout:
                if self._tool.ended() or time.monotonic() > deadline:
                    raise
