# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in the children of one `mlcb-worker`, on this machine or another."""

import json
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from mlcb_gym import _native
from mlcb_gym.errors import SessionLost, TaskError
from mlcb_gym.session.episode import Episode, translated
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec

START_SECONDS = 60.0
SLOWEST_LINE = 1e6
"""Bytes per second that a program travels with at least."""


class ForkServerSession(ABC):
    """Episodes in children of one worker, which is reached when first needed, and anew after it was lost.

    Args:
        serializer: how tensors are written: bitstream, json or protobuf.
        name: the worker's, for errors.
    """

    takes_models: ClassVar[bool] = True

    def __init__(self, *, serializer: str, name: str) -> None:
        self.name = name
        self._serializer = serializer
        self._control: _native.LearnerEnd | None = None
        self._configured: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "ForkServerSession":
        return self  # gymnasium.make copies its arguments; a running compiler is shared

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task in the worker, which parses every pipeline once. A worker that was lost is started anew, once."""
        try:
            spec = self._configure(task, parameters)
        except SessionLost:
            spec = self._configure(task, parameters)
        self._configured[spec.digest] = (task, parameters)
        return spec

    def reach(self) -> None:
        """Starts a worker where none runs, with all tasks that were configured.

        Raises:
            SessionLost: it cannot be reached in ``START_SECONDS``, or ``close`` was called meanwhile.
        """
        if self._is_alive():
            return
        self.close()
        with translated():
            self._control = self._reach()
        for task, parameters in self._configured.values():
            self._hello(task, parameters)

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Forks a child for the program; its first observation, or its error, comes through the episode.

        A worker that died since the last episode is started anew, once; one that starts nothing is given up when the first turn is over.
        """
        try:
            return self._begin(spec, request)
        except SessionLost:
            return self._begin(spec, request)

    def begin_where_running(self, spec: TaskSpec, request: EpisodeRequest, *, seconds: float = START_SECONDS) -> Episode:
        """Forks a child as ``begin`` does, but starts no worker: one that is gone is an error.

        Args:
            seconds: how long the worker may take to accept it, beside the time that its program needs.

        Raises:
            SessionLost: no worker runs, or it does not accept.
        """
        if not self._is_alive():
            raise SessionLost(f"{self.name}: ended, or cannot be reached")
        assert self._control is not None
        with translated():
            payload = json.dumps(vars(request) | {"digest": spec.digest} | self._program(request), default=vars)
            ours, theirs = socket.socketpair()
        try:
            self._control.begin(payload, theirs.detach(), seconds + len(payload) / SLOWEST_LINE)
        except _native.NativeError as error:
            ours.close()
            self.close()
            raise SessionLost(f"{self.name}: {error}") from error
        return Episode.on_socket(ours.detach(), spec, request, self._serializer, is_child=self._children(), give_up=self._giving_up())

    def close(self) -> None:
        """Closes the control channel, which ends the worker and all its children."""
        control, self._control = self._control, None
        if control is not None:
            control.close()

    @abstractmethod
    def _reach(self) -> _native.LearnerEnd:
        """Starts a worker; returns its control channel."""

    def _is_alive(self) -> bool:
        """Whether the worker runs, as far as is known without a message: it says nothing unasked, so that what there is to read is its end."""
        return self._control is not None and self._control.fileno() >= 0 and not self._control.readable()

    def _program(self, request: EpisodeRequest) -> dict[str, str]:
        """The fields of a request that give the worker its program."""
        return {"program": str(request.program)}

    def _children(self) -> Callable[[int], bool]:
        """Return what tells whether a process of this machine is of the present worker. A child says itself which one it is."""
        return lambda pid: False

    def _giving_up(self) -> Callable[[], None]:
        """Return a function that ends the present worker."""
        assert self._control is not None
        return self._control.close

    def _configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        self.reach()
        return self._hello(task, parameters)

    def _begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        self.reach()
        return self.begin_where_running(spec, request)

    def _hello(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        control = self._control
        if control is None:
            raise SessionLost(f"{self.name}: closed meanwhile")
        try:
            return TaskSpec(control.hello(task, json.dumps(parameters), [], START_SECONDS, self._serializer))
        except (_native.PeerError, _native.InvalidArgument) as error:
            said = str(error)
            raise TaskError(said if said.startswith(task) else f"{task}: {said}") from error
        except _native.NativeError as error:
            self.close()
            raise SessionLost(f"{self.name}: {error}") from error
