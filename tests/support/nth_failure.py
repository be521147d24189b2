# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `mlcb` command in a process whose n-th call of a kind fails (see ``tests/native/NthFailure.c``).

As a program, a server: it has imported what commands import, and forks a process for each request, a line of JSON; the answer is another one.
"""

import atexit
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from mlcb_gym.toolchain import tool

KINDS = ("write", "fsync", "rename", "open", "create", "fork", "mmap", "thread")
"""As the library numbers them."""
SOURCE = Path(__file__).parents[1] / "native" / "NthFailure.c"
COMMANDS = ("mlcb_gym.cli.main", "mlcb_gym.corpus.compile_commands", "mlcb_gym.export.aot", "mlcb_gym.export.parity", "mlcb_gym.training.train")
SECONDS = 120.0


@dataclass(frozen=True)
class Failure:
    """The call that fails: ``number`` counts from 1 where the command begins; from there on ``every`` one of the kind, or that alone."""

    kind: str
    number: int
    every: bool


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, negative for a signal, its standard error, and the calls of each kind that it made."""

    status: int
    stderr: str
    calls: dict[str, int]


class Commands:
    """The client of a server of commands."""

    def __init__(self, server: "subprocess.Popen[str]") -> None:
        self._server = server

    def run(self, arguments: Sequence[str | Path], failure: Failure | None = None) -> Ended:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        request = {"arguments": [str(argument) for argument in arguments], "failure": failure and asdict(failure)}
        print(json.dumps(request), file=self._server.stdin, flush=True)
        return Ended(**json.loads(self._server.stdout.readline()))


@contextmanager
def serving(folder: Path, **variables: str) -> Iterator[Commands]:
    """A server of commands; the library is built into ``folder``, which is where commands run."""
    library = folder / "libnthfailure.so"
    subprocess.run([tool("clang"), "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", SOURCE, "-o", library], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "RAY_AUTH_MODE": "disabled", **variables}
    pipe = subprocess.PIPE
    command: list[str | Path] = [sys.executable, "-m", "tests.support.nth_failure", folder]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as server:
        yield Commands(server)


def _serve(folder: Path) -> None:
    for name in COMMANDS:
        import_module(name)
    errors, counts = folder / "errors", folder / "counts"
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        for file in (errors, counts):
            file.write_text("")
        if (child := os.fork()) == 0:
            answers.close()
            return _run(json.loads(line), errors, counts)
        status = _wait(child)
        print(json.dumps(asdict(Ended(status, errors.read_text(), json.loads(counts.read_text() or "{}")))), file=answers, flush=True)


def _wait(child: int) -> int:
    """Return the exit status of a child, which is killed with all of its group where it does not end."""
    watched = os.pidfd_open(child)
    if not select.select([watched], [], [], SECONDS)[0]:
        os.killpg(child, signal.SIGKILL)
    os.close(watched)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run(request: dict[str, object], errors: Path, counts: Path) -> None:
    """Run a command and what ends with it, but for the threads that the server had."""
    from mlcb_gym.cli.main import main

    os.setpgid(0, 0)
    for descriptor, path in ((0, "/dev/null"), (1, "/dev/null"), (2, errors)):
        opened = os.open(path, os.O_RDWR)
        os.dup2(opened, descriptor)
        os.close(opened)
    library = ctypes.CDLL(None)
    failure = Failure(**request["failure"]) if request["failure"] else Failure(KINDS[0], 0, False)  # type: ignore[arg-type]
    sys.argv = ["mlcb", *request["arguments"]]  # type: ignore[misc]
    library.mlcb_fail(KINDS.index(failure.kind), ctypes.c_long(failure.number), int(failure.every))
    status = 1
    try:
        main()
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        if sys.exception():
            traceback.print_exc()
        calls = dict(zip(KINDS, map(library.mlcb_calls, range(len(KINDS))), strict=True))
        library.mlcb_fail(-1, ctypes.c_long(0), 0)  # so that only the command itself meets failures: Ray imports more as it ends
        atexit._run_exitfuncs()
        counts.write_text(json.dumps(calls))
        os._exit(status)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
