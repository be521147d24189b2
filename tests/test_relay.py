# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workers behind gRPC: the same episodes as beside us, clones included, and the end of every session, however it ends."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from numpy.testing import assert_equal

from mlcb_gym import _native
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import CompilerError, SessionLost, TaskError
from mlcb_gym.session import RemoteSession, Session, WorkerSession
from mlcb_gym.session.local_token import new_token, token_name, with_token
from mlcb_gym.session.relay import Relay
from mlcb_gym.session.remote import open_grpc
from mlcb_gym.session.runtime_folder import VARIABLE, folder
from mlcb_gym.session.sandbox import Sandbox
from mlcb_gym.session.server_status import ServerStatus, servers
from tests.support.posetrl import ACTIONS
from tests.support.processes import children, ends, signal_only
from tests.support.serving import SECONDS, SERVE, Served, make_certificate, serving


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as served:
        yield served


def make(program: Path, session: Session) -> PosetRLEnv:
    return PosetRLEnv(programs=program, actions=ACTIONS, reward="size", session=session)


def episode(program: Path, session: Session) -> list[Any]:
    """All that an agent sees of an episode, and of a clone that outlives it and is cloned itself."""
    with closing(session), closing(make(program, session)) as env:
        seen: list[Any] = [env.reset(seed=1), env.step(0), env.step(1)]
        with closing(env.fork()) as clone:
            seen += [env.step(4), clone.step(3)]
            with closing(clone.fork()) as second:
                seen += [second.observation, second.step(2), clone.step(4), second.step(4)]
    return seen


@pytest.mark.parametrize("serializer", ["bitstream", "json", "protobuf"])
def test_episode_and_its_clones_are_as_if_the_worker_were_here(served: Served, program: Path, serializer: str) -> None:
    assert_equal(episode(program, RemoteSession(served.uri, serializer=serializer)), episode(program, WorkerSession()))


def test_episodes_at_once_are_each_as_if_alone(served: Served, program: Path) -> None:
    with closing(RemoteSession(served.uri)) as session:
        envs = [make(program, session) for _ in range(4)]
        first, *others = [env.reset(seed=1) for env in envs]
        for env in envs:
            env.send(0)
        for env in envs:
            while not env.ready():
                assert select.select([env], [], [], SECONDS)[0]
        expected, *steps = [env.receive() for env in envs]
        assert_equal(others, [first] * 3)
        assert_equal(steps, [expected] * 3)


def test_program_that_is_broken_is_named_as_here(served: Served, tmp_path: Path) -> None:
    (tmp_path / "broken.bc").write_bytes(b"BC\xc0\xdenonsense")
    with closing(RemoteSession(served.uri)) as session, pytest.raises(CompilerError, match=r"^broken.bc: program 'broken.bc': "):
        make(tmp_path / "broken.bc", session).reset()


def test_session_that_closes_leaves_no_worker(served: Served, program: Path) -> None:
    with closing(RemoteSession(served.uri)) as session:
        env = make(program, session)
        env.reset(seed=1)
        clone = env.fork()
        watched = served.workers()
        assert len(watched) == 3
    assert ends(watched)
    clone.close()


LEARNER = """
import sys
from pathlib import Path
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.session import RemoteSession
env = PosetRLEnv(programs=Path(sys.argv[1]), actions=sys.argv[3:], reward="size", session=RemoteSession(sys.argv[2]))
env.reset(seed=1)
print("ready", flush=True)
sys.stdin.read()
"""


def test_learner_that_is_killed_leaves_no_worker(served: Served, program: Path) -> None:
    command: list[str | Path] = [sys.executable, "-c", LEARNER, program, served.uri, *ACTIONS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as learner:
        assert learner.stdout is not None
        assert learner.stdout.readline() == "ready\n"
        watched = served.workers()
        assert len(watched) == 2
        learner.kill()
        assert ends(watched)


ASKING = """
import sys
from mlcb_gym.session import RemoteSession
RemoteSession(sys.argv[1]).configure("posetrl", {"actions": [*(f"{{inline-threshold={i}}} default<O3>" for i in range(200_000)), "stop"]})
"""


def test_worker_that_is_busy_ends_with_its_session(served: Served) -> None:
    """It parses and tries all actions of a task before it answers, which takes much longer than this test."""
    with subprocess.Popen([sys.executable, "-c", ASKING, served.uri]) as learner:
        deadline = time.monotonic() + SECONDS
        while not served.workers() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)  # it has begun
        watched = served.workers()
        assert learner.poll() is None
        learner.kill()
        assert len(watched) == 1
        assert ends(watched)


def test_worker_that_is_killed_truncates_and_a_new_one_serves(served: Served, program: Path) -> None:
    with closing(RemoteSession(served.uri)) as session:
        env = make(program, session)
        expected = env.reset(seed=1)
        watched = served.workers()
        signal_only(children(served.process.pid), signal.SIGKILL)
        assert ends(watched)
        assert env.step(0)[2:4] == (False, True)
        assert_equal(env.reset(seed=1), expected)


def test_child_that_is_killed_truncates_alone(served: Served, program: Path) -> None:
    with closing(RemoteSession(served.uri)) as session:
        env = make(program, session)
        env.reset(seed=1)
        (worker,) = children(served.process.pid)
        signal_only(children(worker), signal.SIGKILL)
        assert env.step(0)[2:4] == (False, True)
        env.reset(seed=1)
        assert children(served.process.pid) == [worker]


def test_relay_that_is_killed_takes_its_workers_with_it(program: Path) -> None:
    with subprocess.Popen(SERVE, stdout=subprocess.PIPE, text=True) as process:
        served = Served(process)
        with closing(RemoteSession(served.uri)) as session:
            env = make(program, session)
            env.reset(seed=1)
            watched = served.workers()
            process.kill()
            assert ends(watched)
            assert env.step(0)[2:4] == (False, True)


def test_sessions_beyond_the_limit_wait_for_their_turn(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [RemoteSession(served.uri) for _ in range(3)]
    for session in sessions[:2]:
        session.configure("posetrl", {"actions": ACTIONS})
    monkeypatch.setattr("mlcb_gym.session.remote.START_SECONDS", 1.0)
    with pytest.raises(SessionLost, match="nobody took the call in time"):
        sessions[2].configure("posetrl", {"actions": ACTIONS})
    sessions[0].close()
    monkeypatch.undo()
    sessions[2].configure("posetrl", {"actions": ACTIONS})
    for session in sessions:
        session.close()


def test_task_that_cannot_be_bound_is_the_callers_error(served: Served) -> None:
    with closing(RemoteSession(served.uri)) as session, pytest.raises(TaskError, match="no-such-pass"):
        session.configure("posetrl", {"actions": ["no-such-pass", "stop"]})


def test_port_that_is_taken_ends_the_command_with_one_line(served: Served) -> None:
    done = subprocess.run([*SERVE, served.uri], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"mlcb: cannot listen at {served.uri}: ")
    assert done.stderr.count("\n") == 1


def test_token_that_is_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    (tmp_path / "token").chmod(0o600)
    with pytest.raises(TaskError, match="the token is empty"):
        RemoteSession(f"grpc://127.0.0.1:5000?token={tmp_path}/token")


def test_token_that_every_user_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "token").chmod(0o644)
    with pytest.raises(TaskError, match=r"token can be read or written by every user, expected only by its owner: chmod 600 "):
        RemoteSession(f"grpc://127.0.0.1:5000?token={tmp_path}/token")


def test_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    for name in "ours", "theirs":
        make_certificate(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "token").chmod(0o600)
    with pytest.raises(TaskError, match=rf"^{tmp_path}/theirs.key: not the key of {tmp_path}/ours.pem, expected that$"):
        Relay(f"grpc://127.0.0.1:0?cert={tmp_path}/ours.pem&key={tmp_path}/theirs.key&token={tmp_path}/token", workers=1, sandbox=Sandbox.PARTIAL)


def test_malformed_uri_of_a_server_is_one_line() -> None:
    with pytest.raises(TaskError, match=r"^[^\n]*grpc://\[::1:5000[^\n]*$"):
        Relay("grpc://[::1:5000", workers=1, sandbox=Sandbox.PARTIAL)


def test_address_that_is_not_loopback_is_refused_at_both_ends() -> None:
    done = subprocess.run([*SERVE, "grpc://0.0.0.0:0"], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "needs TLS and a token: cert=FILE, key=FILE and token=FILE" in done.stderr
    with pytest.raises(TaskError, match="needs TLS and a token: ca=FILE and token=FILE"):
        RemoteSession("grpc://198.51.100.1:5000")


def test_server_on_loopback_serves_its_user_alone(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = token_of(served.uri)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with monkeypatch.context() as elsewhere, closing(RemoteSession(served.uri)) as stranger:
        elsewhere.setenv(VARIABLE, str(tmp_path / "another"))
        with pytest.raises(CompilerError, match="the server expects another token"):
            stranger.configure("posetrl", {"actions": ["stop"]})
    with closing(RemoteSession(served.uri)) as session:
        session.configure("posetrl", {"actions": ["stop"]})


def test_token_of_a_server_goes_with_it() -> None:
    with serving() as served:
        file = token_of(served.uri)
        assert file.exists()
    assert not file.exists()
    with serving() as killed:
        file = token_of(killed.uri)
        killed.process.kill()
        killed.process.wait()
    assert with_token(killed.uri) == killed.uri
    with serving():
        assert not file.exists()


def test_server_may_begin_after_its_client() -> None:
    with serving() as ended:
        pass
    with closing(RemoteSession(ended.uri)) as session, ThreadPoolExecutor() as pool:
        configured = pool.submit(session.configure, "posetrl", {"actions": ["stop"]})
        with serving(ended.uri):
            configured.result(SECONDS)


def test_server_that_comes_back_while_its_client_calls_is_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as servers:
        served = servers.enter_context(serving())

        def comes_back(uri: str, *, listens: bool) -> _native.Grpc:
            place = open_grpc(uri, listens=listens)  # with the token of the server that ends
            monkeypatch.undo()
            served.process.kill()
            served.process.wait()
            servers.enter_context(serving(served.uri))
            return place

        with closing(RemoteSession(served.uri)) as session:
            monkeypatch.setattr("mlcb_gym.session.remote.open_grpc", comes_back)
            session.configure("posetrl", {"actions": ["stop"]})


def token_of(uri: str) -> Path:
    return folder() / token_name(urlsplit(uri).netloc)


def test_token_is_for_one_address_alone(served: Served) -> None:
    """At another with the same port may be somebody else."""
    other = served.uri.replace("127.0.0.1", "127.0.0.2")
    assert with_token(served.uri) == f"{served.uri}?token={token_of(served.uri)}"
    assert with_token(other) == other


def test_folder_that_others_may_open_holds_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    folder().mkdir(mode=0o755)
    with pytest.raises(TaskError, match=f"{folder()}: expected a folder that this user alone may open"):
        new_token()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(TaskError, match=f"{folder()}: No such file or directory, expected a place for files of this user alone"):
        new_token()


def test_what_else_lies_in_the_folder_stays_and_keeps_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    (tmp_path / "notes.txt").touch()
    folder().mkdir(mode=0o700)
    (folder() / "notes.txt").touch()
    (folder() / "killed.new").touch()  # of a server killed before it published its token
    os.mkfifo(token_of("grpc://127.0.0.1:5000"))
    assert with_token("grpc://127.0.0.1:5000") == "grpc://127.0.0.1:5000"
    with new_token() as token:
        token.publish(token_name("127.0.0.1:5001"))
        assert with_token("grpc://127.0.0.1:5001") != "grpc://127.0.0.1:5001"
    assert sorted(path.name for path in folder().iterdir()) == [".lock", "notes.txt"]
    assert (tmp_path / "notes.txt").exists()


def test_status_tells_what_servers_do(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as served, closing(RemoteSession(served.uri)) as session, closing(make(program, session)) as env:
        env.reset(seed=1)
        with monkeypatch.context() as elsewhere, closing(RemoteSession(served.uri)) as stranger:
            elsewhere.setenv(VARIABLE, str(tmp_path / "another"))
            with pytest.raises(CompilerError):
                stranger.reach()
            assert servers() == []
        until = time.monotonic() + SECONDS
        while not (found := status_of(served)).refused and time.monotonic() < until:
            time.sleep(0.1)
        assert (f"grpc://{found.address}", found.workers, found.sessions, found.refused) == (served.uri, 2, 1, 1)
        assert {*children(found.pid), *children(children(found.pid)[0])} <= set(found.processes)
        assert 1 << 20 < found.memory_bytes < 1 << 30
        shown = subprocess.run([*SERVE, "--status"], capture_output=True, text=True, timeout=SECONDS, check=True)
        assert served.uri in shown.stdout
    assert all(each.pid != served.process.pid for each in servers())


def status_of(served: Served) -> ServerStatus:
    (found,) = (each for each in servers() if each.pid == served.process.pid)
    return found
