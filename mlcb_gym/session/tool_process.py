# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One run of a tool of LLVM's, in a folder and a process group that end with it."""

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mlcb_gym import atomic, toolchain
from mlcb_gym.errors import CompilerError, SessionLost
from mlcb_gym.limits import lower
from mlcb_gym.session.request import Limits

STOP_SECONDS = 5.0
_LEADER = 'trap "" TERM; read _; kill -TERM 0; rm -rf -- "$0"; kill -KILL 0'
"""The shell of a process group: those that it would kill at once could not be followed by the removal of their folder."""

#: Return codes of a process that another one ended.
_KILLED = frozenset(-number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP))


class ToolProcess:
    """A tool at work, the FIFOs ``base`` + ``.in`` and ``.out``, and the file ``output`` that it writes.

    Args:
        tool: its name, as in ``toolchain.tool``.
        arguments: from ``base`` and ``output`` to its command line.
        limits: its CPU time and memory.

    Raises:
        ToolchainError: there is no such tool.
        OSError: the machine has no more to give.
    """

    def __init__(self, tool: str, arguments: Callable[[Path, Path], Sequence[str | Path]], limits: Limits) -> None:
        self.tool = tool
        command = toolchain.tool(tool)
        with ExitStack() as started:
            folder = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="mlcb-")))
            self.base, self.output = folder / "channel", folder / "output"
            for end in (".in", ".out"):
                os.mkfifo(f"{self.base}{end}")
            self._errors = started.enter_context((folder / "stderr").open("w+", errors="replace"))
            null = subprocess.DEVNULL
            self._process = subprocess.Popen(
                [command, *arguments(self.base, self.output)],
                stdin=null,
                stdout=null,
                stderr=self._errors,
                env=toolchain.environment(),
                process_group=started.enter_context(_process_group(folder)),
            )
            started.callback(self._process.wait)
            started.callback(self._process.kill)
            _limit(self._process.pid, limits)
            self._resources = started.pop_all()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ended(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        """Ends it and whatever it started, and removes its folder. May be called twice."""
        self._resources.close()

    def finish(self, seconds: float) -> None:
        """Waits until it has written its output and ended.

        Raises:
            CompilerError: it failed.
            SessionLost: it was killed, or did not end in time.
        """
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise SessionLost(f"{self.tool} did not end within {seconds:g} s of its last decision") from None
        if status:
            raise self._failed(status) or SessionLost(f"{self.tool} was killed ({signal.Signals(-status).name})")

    def keep(self, path: Path | None) -> None:
        """Copies its output to a file, whole or not at all, if there is one.

        Raises:
            SessionLost: that cannot be done.
        """
        if path is not None:
            try:
                with atomic.replacing(path) as unfinished:
                    shutil.copyfile(self.output, unfinished)
            except OSError as error:
                raise SessionLost(str(error)) from error

    def cause(self, lost: SessionLost) -> CompilerError | SessionLost:
        """Return the reason of a loss: the error that the tool ended with, if any; ``lost`` where it was killed, or given up by then."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        status = self._process.returncode
        return (self._failed(status) if status and not self._errors.closed else None) or lost

    def late(self, seconds: float) -> CompilerError | None:
        """Return the error of a turn that takes this long; None where the tool ended, or was stopped."""
        if self.ended() or os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT):
            return None
        return CompilerError(f"{self.tool} took longer than {seconds:g} s for one turn")

    def failure(self) -> str | None:
        """Return the first line of its error output that has an error."""
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors if line.strip()]
        return next((line for line in lines if "error" in line), lines[0] if lines else None)

    def _failed(self, status: int) -> CompilerError | None:
        """The error that it ended with; None where it was killed."""
        if status in _KILLED:
            return None
        if status < 0:
            return CompilerError(f"{self.tool} crashed ({signal.Signals(-status).name})")
        return CompilerError(self.failure() or f"{self.tool} ended with {status}")


@contextmanager
def _process_group(folder: Path) -> Iterator[int]:
    """A process group that is killed at the end, and, with its folder, when this process dies before: a shell leads it that waits for that."""
    null = subprocess.DEVNULL
    leader = subprocess.Popen(["/bin/sh", "-c", _LEADER, folder], stdin=subprocess.PIPE, stdout=null, stderr=null, process_group=0)
    try:
        yield leader.pid
    finally:
        os.killpg(leader.pid, signal.SIGKILL)  # which no other group can be: its leader is not waited for yet
        leader.communicate()


def _limit(pid: int, limits: Limits) -> None:
    lower(pid, resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1)
    lower(pid, resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes)
