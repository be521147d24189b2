# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sandbox of workers: what a program tries that is compiled or timed there, and what it gets."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import CompilerError, TaskError
from mlcb_gym.session import RemoteSession, WorkerSession, open_session
from mlcb_gym.session.sandbox import refusal
from tests.support.hostile import CALLS, FILES, KERNEL, NETWORK, PROCESSES, says
from tests.support.posetrl import ACTIONS, begins
from tests.support.processes import children
from tests.support.serving import SERVE, serving

GOT_THROUGH, REFUSED = signal.SIGUSR1, signal.SIGUSR2
FREE = {**FILES, **{name: PROCESSES[name] for name in ("forks", "signals a process", "signals a group of processes", "limits a process")}, **NETWORK}
"""What any process may do that is in no sandbox."""
SECRET = "a secret of the user's"


@pytest.fixture(scope="module")
def whole() -> None:
    """Skips tests of what the kernel lacks."""
    if why := refusal():
        pytest.skip(why)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of the user's, with a file and a socket that has a name."""
    (tmp_path / "file").write_text(SECRET)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listens:
        listens.bind(f"{tmp_path}/socket")
        yield tmp_path


@pytest.fixture
def victim() -> Iterator[int]:
    """Another process of the user's."""
    with subprocess.Popen(["sleep", "600"], process_group=0) as process:
        yield process.pid
        lives = process.poll() is None
        process.kill()
    assert lives


@pytest.fixture(scope="module")
def free() -> Iterator[WorkerSession]:
    """A worker in no sandbox."""
    with closing(WorkerSession(sandbox="none")) as session:
        yield session


def outcome(tries: str, session: WorkerSession, folder: Path, victim: int) -> signal.Signals:
    return says(folder / "program.c", tries.replace("FOLDER", str(folder)).replace("VICTIM", str(victim)), session)


@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("name", [*FILES, *PROCESSES, *NETWORK, *KERNEL])
def test_timed_program_is_refused_what_is_not_its_own(name: str, worker: WorkerSession, folder: Path, victim: int) -> None:
    tries = (FILES | PROCESSES | NETWORK | KERNEL)[name]
    assert outcome(tries, worker, folder, victim) == REFUSED
    assert {path.name for path in folder.iterdir()} <= {"file", "socket", "program.c"}
    assert (folder / "file").read_text() == SECRET


@pytest.mark.parametrize("name", FREE)
def test_without_a_sandbox_it_gets_through(name: str, free: WorkerSession, folder: Path, victim: int) -> None:
    assert outcome(FREE[name], free, folder, victim) == GOT_THROUGH


@pytest.mark.parametrize("call", CALLS)
def test_system_call_is_not_permitted(call: str, worker: WorkerSession, folder: Path) -> None:
    assert says(folder / "program.c", f"return syscall(SYS_{call}, 0, 0, 0, 0, 0, 0) != -1 || errno != EPERM", worker) == REFUSED


SHARED_MAPPING = """
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long begin, end;
    while (fgets(line, sizeof line, maps))
      if (strstr(line, " rw-s ") && sscanf(line, "%lx-%lx", &begin, &end) == 2 && end - begin > 4096)
        return 1;
    return 0"""


def test_timed_program_shares_no_memory_with_episodes(free: WorkerSession, folder: Path) -> None:
    """But the pages that say its time and its end: in no sandbox, which hides what a process has mapped."""
    assert says(folder / "program.c", SHARED_MAPPING, free) == REFUSED


@pytest.mark.parametrize("directive", ["incbin", "include"])
def test_assembly_of_a_program_reads_no_file(directive: str, worker: WorkerSession, free: WorkerSession, folder: Path) -> None:
    (folder / "file").write_text(".quad 1\n")
    (folder / "program.c").write_text(f'__asm__(".{directive} \\"{folder}/file\\"");\nint f(int x) {{ return x; }}\n')
    assert begins(free, folder / "program.c")
    with pytest.raises(CompilerError, match=rf"[Cc]ould not find {directive} file"):
        begins(worker, folder / "program.c")


def status(pid: int) -> dict[str, str]:
    return dict(re.findall(r"(\w+):\s*(.*)", Path(f"/proc/{pid}/status").read_text()))


def opened(pid: int) -> set[str]:
    """What descriptors of a process stand for, beside the standard ones."""
    return {os.readlink(f"/proc/{pid}/fd/{fd}").partition(":")[0] for fd in os.listdir(f"/proc/{pid}/fd") if int(fd) > 2}


def test_worker_and_its_children_are_in_it_and_have_no_descriptors_but_their_own(program: Path) -> None:
    with closing(WorkerSession()) as session, closing(PosetRLEnv(programs=program, actions=ACTIONS, session=session)) as env:
        env.reset(seed=1)
        assert session.pid is not None
        (child,) = children(session.pid)
        assert int(status(child)["CapEff"], 16) == 0
        for pid in (session.pid, child):
            assert (status(pid)["Seccomp"], status(pid)["NoNewPrivs"]) == ("2", "1")
            assert opened(pid) <= {"socket", "anon_inode", f"/proc/{session.pid}/statm"}


def test_sandbox_is_named_where_a_session_is(monkeypatch: pytest.MonkeyPatch, program: Path) -> None:
    with pytest.raises(TaskError, match="sandbox='half': expected whole, partial, none"):
        open_session("worker:?sandbox=half")
    monkeypatch.setenv("MLCB_SANDBOX", "half")
    with pytest.raises(TaskError, match="MLCB_SANDBOX='half': expected whole, partial, none"):
        WorkerSession()
    monkeypatch.setenv("MLCB_SANDBOX", "none")
    with closing(WorkerSession()) as session:
        assert begins(session, program)
        assert session.pid is not None
        assert status(session.pid)["Seccomp"] == "0"


OLDER_KERNEL = [sys.executable, "-m", "tests.support.older_kernel"]
LACKS = "sandbox: this kernel has no Landlock: files and other processes are as open as to the user"


@pytest.mark.usefixtures("whole")
def test_server_has_a_whole_one(program: Path, folder: Path) -> None:
    (folder / "file").write_text(".quad 1\n")
    (folder / "reads.c").write_text(f'__asm__(".incbin \\"{folder}/file\\"");\nint f(int x) {{ return x; }}\n')
    with serving("grpc://127.0.0.1:0", "--sandbox", "whole") as served, closing(RemoteSession(served.uri)) as session:
        assert begins(session, program)
        (worker,) = children(served.process.pid)
        assert (status(worker)["Seccomp"], status(worker)["NoNewPrivs"], int(status(worker)["CapEff"], 16)) == ("2", "1", 0)
        with pytest.raises(CompilerError, match=r"[Cc]ould not find incbin file"):  # by Landlock, of which /proc tells nothing
            begins(session, folder / "reads.c")


def test_programs_of_clients_see_no_variable_of_the_servers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("A_SECRET", SECRET)
    with serving("grpc://127.0.0.1:0", "--run-programs") as served, closing(RemoteSession(served.uri)) as session:
        assert says(folder / "program.c", 'return getenv("A_SECRET") != 0', session) == REFUSED
    with closing(WorkerSession()) as own:
        assert says(folder / "program.c", 'return getenv("A_SECRET") != 0', own) == GOT_THROUGH


def test_server_without_a_whole_sandbox_starts_only_where_told(program: Path) -> None:
    refused = subprocess.run([*OLDER_KERNEL, *SERVE], capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 1
    assert refused.stderr.endswith(f"{LACKS}; sandbox partial does without that, none without all\n")
    assert refused.stderr.count("\n") == 1
    with serving("grpc://127.0.0.1:0", "--sandbox", "partial", within=OLDER_KERNEL) as served, closing(RemoteSession(served.uri)) as session:
        assert begins(session, program)


def test_what_a_kernel_lacks_is_said_in_one_line(program: Path) -> None:
    plays = "import sys; from mlcb_gym.session import *; from tests.support.posetrl import *; print(begins(WorkerSession(), sys.argv[1]))"
    played = subprocess.run([*OLDER_KERNEL, sys.executable, "-c", plays, program], capture_output=True, text=True, timeout=60, check=True)
    assert played.stdout == "True\n"
    assert played.stderr == f"mlcb-worker: warning: {LACKS}\n"
