# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in LLVM's own `opt` with the plugin: a process for each, slower than the worker, which leaves the module that it made."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlcb_gym import _native, toolchain
from mlcb_gym.errors import CompilerError, SessionLost
from mlcb_gym.session.episode import Episode
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec, bind

START_SECONDS = 60.0
STOP_SECONDS = 5.0
POLL_SECONDS = 0.2


class ToolSession:
    """An `opt` for each episode, over a pair of FIFOs in a temporary folder that goes with it.

    Args:
        keep: where the bitcode of an episode goes when it ends well; the last episode's is there.
    """

    def __init__(self, *, keep: Path | None = None) -> None:
        self._keep = keep
        self._running: list[ToolEpisode] = []

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task; whether the compiler takes every parameter, an episode's beginning says."""
        return bind(task, parameters)

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts `opt` on the program."""
        episode = ToolEpisode(spec, request, self._keep)
        self._running.append(episode)
        return episode

    def close(self) -> None:
        """Ends every `opt` that still runs."""
        for episode in self._running:
            episode.close()
        self._running.clear()


class ToolEpisode(Episode):
    """One run of `opt`."""

    def __init__(self, spec: TaskSpec, request: EpisodeRequest, keep: Path | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mlcb-"))
        self._keep = keep
        base = self._folder / "channel"
        for end in (".in", ".out"):
            os.mkfifo(f"{base}{end}")
        host = _native.Host.fifo(str(base))
        self._errors = (self._folder / "stderr").open("w+")
        plugin = [f"-load-pass-plugin={toolchain.plugin()}", f"-passes={spec.task}", f"-mlcb-runner=pipe:{base}"]
        self._process = subprocess.Popen(
            [toolchain.tool("opt"), *plugin, request.program, "-o", self._folder / "out.bc"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env=toolchain.environment(),
        )
        super().__init__(host, spec, request)
        try:
            self._connect()
            host.hello(spec.task, json.dumps(spec.parameters), list(request.metrics), START_SECONDS, measure=request.measure)
        except _native.NativeError as error:
            message = self._failure() or str(error)
            self.close()
            raise CompilerError(message) from error

    def receive(self) -> _native.Message:
        message = super().receive()
        if message.kind == "bye":
            self._process.wait(STOP_SECONDS)
            raise CompilerError(self._failure() or "opt left without a word")
        if message.kind == "episode_end":
            self._finish()
        return message

    def close(self) -> None:
        super().close()
        self._process.kill()
        self._process.wait()
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)

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
            shutil.move(self._folder / "out.bc", self._keep)

    def _failure(self) -> str | None:
        """The first line that `opt` wrote of an error."""
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors if line.strip()]
        return next((line for line in lines if "error" in line), lines[0] if lines else None)
