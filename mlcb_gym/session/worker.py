# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in our own fork server: one `mlcb-worker` process, a child for each episode."""

import os
import socket
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from mlcb_gym import _native, toolchain
from mlcb_gym.session.fork_server import ForkServerSession
from mlcb_gym.session.request import Limits
from mlcb_gym.session.sandbox import Sandbox, chosen, require

STOP_SECONDS = 5.0
SHARED_VARIABLES = frozenset({"HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "TMPDIR", "TZ"})
"""What workers of `mlcb serve` have of its environment, beside ``MLCB_*``."""


@dataclass(frozen=True)
class Terms:
    """The grants of a worker to who begins episodes in it.

    Args:
        limits: of an episode at most: a request lowers them alone, and its 0 is not "none".
        paths: programs may be files of this machine, not only bitcode.
        runs: programs may be run, to be timed.
    """

    limits: Limits = field(default_factory=Limits)
    paths: bool = False
    runs: bool = False

    @property
    def options(self) -> list[str]:
        """The options of `mlcb-worker`."""
        most = [f"--{name.replace('_', '-')}={value}" for name, value in vars(self.limits).items()]
        return most + ["--no-paths"] * (not self.paths) + ["--no-runs"] * (not self.runs)


class WorkerSession(ForkServerSession):
    """A running `mlcb-worker`; it is started when first needed, and started anew after it was lost.

    It keeps LLVM's code on huge pages (62 MB; on Linux 6.1 or later), so that no episode has to map it anew.

    Args:
        serializer: how tensors are written: bitstream, json or protobuf.
        snapshots: number of episodes of which it keeps a process at the first decision, where an equal episode starts; 0 for none, None for the
            worker's default.
        sandbox: whole, partial or none (see ``Sandbox``); by default what ``MLCB_SANDBOX`` says, else partial.

    Raises:
        TaskError: there is no such sandbox.
    """

    def __init__(self, *, serializer: str = "bitstream", snapshots: int | None = None, sandbox: str | None = None) -> None:
        super().__init__(serializer=serializer, name="mlcb-worker")
        self._snapshots, self._sandbox = snapshots, chosen(sandbox)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The worker's process id, or None while none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def close(self) -> None:
        """Closes the control channel, which ends the worker and all its children."""
        super().close()
        process, self._process = self._process, None
        if process is not None:
            end_worker(process)

    def _is_alive(self) -> bool:
        return self.pid is not None and super()._is_alive()

    def _children(self) -> Callable[[int], bool]:
        group = self.pid
        return lambda pid: os.getpgid(pid) == group

    def _giving_up(self) -> Callable[[], None]:
        assert self._process is not None
        return partial(_kill, self._process)

    def _reach(self) -> _native.LearnerEnd:
        self._process, control = start_worker(self._sandbox, snapshots=self._snapshots)
        return _native.LearnerEnd(control)


def start_worker(sandbox: Sandbox, *, snapshots: int | None = None, terms: Terms | None = None) -> tuple[subprocess.Popen[bytes], int]:
    """Starts a worker, which ends with its control channel; returns it and the socket of the channel. Without terms it grants everything.

    Raises:
        ToolchainError: there is no worker, or the kernel has no whole sandbox where one is demanded.
        OSError: no process can be made.
    """
    require(sandbox)
    options = [f"--sandbox={sandbox}"] + ([] if snapshots is None else [f"--snapshots={snapshots}"])
    ours, theirs = socket.socketpair()
    with closing(ours), theirs, toolchain.starting(toolchain.worker()):
        process = subprocess.Popen(
            [toolchain.worker(), "--control-fd", str(theirs.fileno()), *options, *([] if terms is None else terms.options)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C in a terminal is for this process, which may still want an answer
            env=_environment(terms) | {"LD_BIND_NOW": "1"},  # or every child would look up the same symbols
        )
        return process, ours.detach()


def _environment(terms: Terms | None) -> dict[str, str]:
    """The variables of a worker: of those that work for others, none that may be secret, for programs that are run read them."""
    ours = toolchain.environment()
    return ours if terms is None else {name: value for name, value in ours.items() if name in SHARED_VARIABLES or name.startswith("MLCB_")}


def end_worker(process: subprocess.Popen[bytes]) -> None:
    """Waits for a worker whose control channel is closed; kills it if that takes long."""
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a worker that is stopped, or hangs, and with it all its children."""
    process.kill()
    process.wait()
