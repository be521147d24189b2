# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workers of this machine for sessions on other machines, as `mlcb serve` runs them."""

import subprocess
import time
from contextlib import suppress

from mlcb_gym import _native
from mlcb_gym.session.episode import translated
from mlcb_gym.session.remote import open_grpc
from mlcb_gym.session.worker import end_worker, start_worker

POLL_SECONDS = 0.5


class Relay:
    """Listens for sessions and gives each a worker of its own. A context manager: the workers go with it.

    gRPC is here alone: workers and their children speak over Unix sockets. A worker ends with its session, and a session with its worker.

    Args:
        uri: ``grpc://HOST:PORT?cert=FILE&key=FILE&token=FILE``; port 0 is any that is free.
        workers: how many sessions at most; more wait.

    Raises:
        TaskError: the URI is of another form, or not allowed without TLS and a token.
        SessionLost: the port is taken.
    """

    def __init__(self, uri: str, *, workers: int) -> None:
        self._place = open_grpc(uri, listens=True)
        self._limit = workers
        self._workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """The address that it listens at: host:port."""
        return self._place.address

    def serve(self, seconds: float = POLL_SECONDS) -> None:
        """Accepts the next session, if one comes in time and there is a worker for it.

        Raises:
            ToolchainError: there is no `mlcb-worker`.
        """
        self._workers = [worker for worker in self._workers if worker.poll() is None]
        if len(self._workers) >= self._limit:
            return time.sleep(seconds)
        with translated(), suppress(_native.Timeout):
            self._place.join(self._start, seconds)

    def close(self) -> None:
        """Ends all sessions and their workers. May be called twice."""
        self._place.close()
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            end_worker(worker)
        self._workers.clear()

    def _start(self) -> int:
        worker, control = start_worker()
        self._workers.append(worker)
        return control

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
