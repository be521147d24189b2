# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workers of this machine for sessions on other machines, as `mlcb serve` runs them."""

import os
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from mlcb_gym import _native
from mlcb_gym.errors import SessionLost, TaskError
from mlcb_gym.session.episode import translated
from mlcb_gym.session.local_token import needs_token, new_token, token_name, with_option
from mlcb_gym.session.remote import open_grpc
from mlcb_gym.session.sandbox import Sandbox, require
from mlcb_gym.session.server_status import PublishedStatus, ServerStatus
from mlcb_gym.session.worker import Terms, end_worker, start_worker

POLL_SECONDS = 0.5
SHORTAGE_SECONDS = 0.1

EPISODES = 128
IDLE_SECONDS = 1800.0


class Relay:
    """Listens for sessions and gives each a worker of its own. A context manager: the workers go with it.

    gRPC is here alone: workers and their children speak over Unix sockets. A worker ends with its session, and a session with its worker.

    Args:
        uri: ``grpc://HOST:PORT?cert=FILE&key=FILE&token=FILE``; port 0 is any that is free. On loopback it makes a token, if none is given, which
            this user's clients find (see ``local_token``).
        workers: how many sessions at most; more wait.
        episodes: how many episodes and clones of one session at once; more are refused.
        idle_seconds: after which a session that says nothing gives its place back.
        terms: what its workers grant; by default bitcode alone, no runs, and the limits that episodes have by default.
        sandbox: the bounds of its workers.

    Raises:
        ToolchainError: the kernel has no whole sandbox where one is demanded.
        TaskError: the URI is of another form, not allowed without TLS and a token, its key is not that of its certificate, or there is no place for
            a token.
        SessionLost: the port is taken.
    """

    def __init__(
        self,
        uri: str,
        *,
        workers: int,
        episodes: int = EPISODES,
        idle_seconds: float = IDLE_SECONDS,
        terms: Terms | None = None,
        sandbox: Sandbox = Sandbox.WHOLE,
    ) -> None:
        require(sandbox)
        _check_pair(uri)
        self._sandbox = sandbox
        with ExitStack() as ends:
            token = ends.enter_context(new_token()) if needs_token(uri) else None
            where = with_option(uri, "token", token.path) if token else uri
            self._place = ends.enter_context(closing(open_grpc(where, listens=True, episodes=episodes, idle_seconds=idle_seconds)))
            if token:
                token.publish(token_name(self.address))
            self._status = ServerStatus(self.address, os.getpid(), time.time(), workers)
            self._published = self._publish(ends)
            self._ends = ends.pop_all()
        self._terms = terms or Terms()
        self._is_short, self._unstarted = False, 0
        self._workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """The address that it listens at: host:port."""
        return self._place.address

    @property
    def status(self) -> ServerStatus:
        """The status that `mlcb serve --status` shows."""
        return replace(self._status, sessions=len(self._workers), refused=self._place.refused + self._unstarted)

    def serve(self, seconds: float = POLL_SECONDS) -> None:
        """Accepts the next session, if one comes in time and there is a worker for it. Where the machine has nothing left to start one with, the
        session is closed, stderr says so once, and the next one is tried.

        Raises:
            ToolchainError: there is no `mlcb-worker`.
        """
        self._workers = [worker for worker in self._workers if worker.poll() is None]
        if self._published:
            self._published.update(self.status)
        if len(self._workers) >= self._status.workers:
            return time.sleep(seconds)
        try:
            with translated(), suppress(_native.Timeout):
                self._place.join(self._start, seconds)
        except SessionLost as error:
            self._rest(error)

    def close(self) -> None:
        """Ends all sessions and their workers. May be called twice."""
        try:
            self._ends.close()
        finally:
            self._end_workers()

    def _end_workers(self) -> None:
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            end_worker(worker)
        self._workers.clear()

    def _publish(self, ends: ExitStack) -> PublishedStatus | None:
        """Publish the status; a server that finds no place for it is as good without."""
        try:
            return ends.enter_context(PublishedStatus(self._status))
        except TaskError as error:
            print(f"mlcb: without a status: {error}", file=sys.stderr, flush=True)
            return None

    def _start(self) -> int:
        worker, control = start_worker(self._sandbox, terms=self._terms)
        self._workers.append(worker)
        self._is_short = False
        return control

    def _rest(self, error: SessionLost) -> None:
        if not self._is_short:
            print(f"mlcb: a session was refused: {error}", file=sys.stderr, flush=True)
        self._is_short = True
        self._unstarted += 1
        time.sleep(SHORTAGE_SECONDS)

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_pair(uri: str) -> None:
    """Check that a certificate and a key belong together; what else is wrong with them or the URI, gRPC says."""
    try:
        options = parse_qs(urlsplit(uri).query)
        for certificate, key in zip(options.get("cert", ()), options.get("key", ()), strict=False):
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise TaskError(f"{key}: not the key of {certificate}, expected that") from error
    except (OSError, ValueError):
        pass
