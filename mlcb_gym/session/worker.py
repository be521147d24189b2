# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in our own fork server: one `mlcb-worker` process, a child for each episode."""

import json
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from mlcb_gym import _native, toolchain
from mlcb_gym.errors import SessionLost, TaskError
from mlcb_gym.session.episode import Episode, translated
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec

START_SECONDS = 60.0
STOP_SECONDS = 5.0


class WorkerSession:
    """A running `mlcb-worker`; it is started when first needed, and started anew after it was lost.

    Args:
        serializer: how tensors are written: bitstream, json or protobuf.
    """

    def __init__(self, *, serializer: str = "bitstream") -> None:
        self._serializer = serializer
        self._process: subprocess.Popen[bytes] | None = None
        self._control: _native.Host | None = None
        self._configured: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "WorkerSession":
        return self  # gymnasium.make copies its arguments; a running compiler is shared

    @property
    def pid(self) -> int | None:
        """The worker's process id, or None while none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task in the worker, which parses every pipeline once. A worker that was lost is started anew, once."""
        try:
            spec = self._configure(task, parameters)
        except SessionLost:
            spec = self._configure(task, parameters)
        self._configured[spec.digest] = (task, parameters)
        return spec

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Forks a child for the program; its first observation, or its error, comes through the episode.

        A worker that died since the last episode is started anew, once; one that starts nothing is killed when the first turn is over.
        """
        try:
            return self._begin(spec, request)
        except SessionLost:
            return self._begin(spec, request)

    def close(self) -> None:
        """Closes the control channel, which ends the worker and all its children."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                _end(self._process)
            self._process = None

    def _configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        self._ensure_running()
        return self._hello(task, parameters)

    def _begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        self._ensure_running()
        assert self._control is not None
        assert self._process is not None
        payload = asdict(request) | {"digest": spec.digest, "program": str(request.program)}
        with translated():
            ours, theirs = socket.socketpair()
        try:
            self._control.begin(json.dumps(payload), theirs.detach(), START_SECONDS)
        except _native.NativeError as error:
            ours.close()
            self.close()
            raise SessionLost(f"mlcb-worker: {error}") from error
        return Episode.on_socket(ours.detach(), spec, request, self._serializer, give_up=partial(_end, self._process))

    def _ensure_running(self) -> None:
        if self.pid is not None and self._control is not None and self._control.fileno() >= 0:
            return
        self.close()
        with translated():
            self._start()
        for task, parameters in self._configured.values():
            self._hello(task, parameters)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._process = subprocess.Popen(
                [toolchain.worker(), "--control-fd", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=toolchain.environment(),
            )
            self._control = _native.Host(ours.detach())

    def _hello(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        assert self._control is not None
        try:
            return TaskSpec(self._control.hello(task, json.dumps(parameters), [], START_SECONDS, self._serializer))
        except (_native.PeerError, _native.InvalidArgument) as error:
            raise TaskError(f"{task}: {error}") from error
        except _native.NativeError as error:
            self.close()
            raise SessionLost(f"mlcb-worker: {error}") from error


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills a worker that is stopped, or hangs, and with it all its children."""
    process.kill()
    process.wait()
