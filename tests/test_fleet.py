# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several workers as one session: who gets the episodes, and what becomes of one that is lost."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import ProgramError, SessionLost, TaskError, TrainingError
from mlcb_gym.session import Fleet, Limits, RemoteSession, Session, WorkerSession, open_session
from mlcb_gym.session.local_token import with_token
from mlcb_gym.spec import TaskSpec
from mlcb_gym.training.learnable import check_learns
from mlcb_gym.training.run import recipe
from mlcb_gym.training.training_env import Environment
from tests.support.posetrl import ACTIONS
from tests.support.processes import children, ends, left, signal_only
from tests.support.serving import SECONDS, Served, make_certificate, serving


@pytest.fixture
def two() -> Iterator[list[Served]]:
    with serving() as first, serving() as second:
        yield [first, second]


def make(program: Path, session: Session, limits: Limits = Limits()) -> PosetRLEnv:
    return PosetRLEnv(programs=program, actions=ACTIONS, reward="size", session=session, limits=limits)


def fleet_of(*servers: Served) -> Fleet:
    session = open_session(",".join(served.uri for served in servers))
    assert isinstance(session, Fleet)
    return session


def is_complete(fleet: Fleet) -> bool:
    """Whether all workers answer again in time."""
    until = time.monotonic() + SECONDS
    while fleet.lost and time.monotonic() < until:
        time.sleep(0.01)
    return not fleet.lost


def episodes_of(served: Served) -> list[int]:
    (worker,) = children(served.process.pid)
    return children(worker)


def test_episodes_begin_where_the_fewest_run(two: list[Served], program: Path) -> None:
    with closing(fleet_of(*two)) as fleet:
        envs = [make(program, fleet) for _ in range(4)]
        for env in envs:
            env.reset(seed=1)
        assert [len(episodes_of(served)) for served in two] == [2, 2]
        for env in (envs[0], envs[2]):  # both at the same
            env.close()
        for env in (envs[0], envs[2]):
            env.reset(seed=1)
        left(children(two[0].process.pid)[0], 2)
        left(children(two[1].process.pid)[0], 2)


def test_lost_server_truncates_its_episodes_and_the_other_goes_on(two: list[Served], program: Path) -> None:
    with closing(fleet_of(*two)) as fleet:
        envs = [make(program, fleet) for _ in range(2)]
        first, _ = [env.reset(seed=1) for env in envs]
        two[0].process.kill()
        two[0].process.wait(SECONDS)
        ended = [env.step(0)[3] for env in envs]
        assert sorted(ended) == [False, True]
        assert str(envs[ended.index(True)].reset(seed=1)) == str(first)
        assert list(fleet.lost) == [two[0].uri]
        left(children(two[1].process.pid)[0], 2)


def test_server_that_is_back_gets_episodes_again(program: Path) -> None:
    with serving() as stays, ExitStack() as stack:
        goes = stack.enter_context(serving())
        with closing(fleet_of(stays, goes)) as fleet:
            envs = [make(program, fleet) for _ in range(2)]
            for env in envs:
                env.reset(seed=1)
            stack.close()
            for env in envs:
                env.reset(seed=1)
            assert list(fleet.lost) == [goes.uri]
            with serving(goes.uri) as again:
                assert is_complete(fleet)
                for env in envs:
                    env.reset(seed=1)
                left(children(again.process.pid)[0], 1)


def test_worker_that_is_killed_is_replaced_by_its_server(two: list[Served], program: Path) -> None:
    with closing(fleet_of(*two)) as fleet:
        envs = [make(program, fleet) for _ in range(2)]
        for env in envs:
            env.reset(seed=1)
        watched = two[0].workers()
        signal_only(children(two[0].process.pid), signal.SIGKILL)
        assert ends(watched)
        assert sorted(env.step(0)[3] for env in envs) == [False, True]
        for env in envs:  # one of them begins where the worker was
            env.reset(seed=1)
        assert is_complete(fleet)
        for env in envs:
            env.reset(seed=1)
        left(children(two[0].process.pid)[0], 1)


def test_all_lost_is_one_line_with_every_reason(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(serving()) for _ in range(2)]
        with closing(fleet_of(*servers)) as fleet:
            env = make(program, fleet)
            env.reset(seed=1)
            stack.close()
            monkeypatch.setattr("mlcb_gym.session.fleet.START_SECONDS", 1.0)
            with pytest.raises(SessionLost, match=rf"^no worker is left: {servers[0].uri}: .*; {servers[1].uri}: .*$"):
                env.reset(seed=1)


def test_dead_server_is_left_out_and_refused_by_a_training_alone(two: list[Served], program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcb_gym.session.opening.REACH_SECONDS", 1.0)
    two[1].process.kill()
    two[1].process.wait(SECONDS)
    with closing(fleet_of(*two)) as fleet:
        make(program, fleet).reset(seed=1)
        assert list(fleet.lost) == [two[1].uri]
    session = ",".join(served.uri for served in two)
    environment = Environment("PosetRL-v0", {"programs": str(program), "actions": ACTIONS, "session": session})
    with pytest.raises(TrainingError, match=rf"^{two[1].uri}: .*refused.*: expected all compilers to answer when a training begins$"):
        check_learns(recipe("ppo"), environment)


def test_one_environment_takes_turns_at_the_servers(two: list[Served], program: Path) -> None:
    with closing(fleet_of(*two)) as fleet:
        env = make(program, fleet)
        counts = set()
        for _ in range(2):
            env.reset(seed=1)
            counts.add(tuple(len(episodes_of(served)) for served in two))
    assert counts >= {(0, 1), (1, 0)} or (1, 1) in counts  # the child of the episode before may still be ending


def test_program_that_cannot_be_read_is_named_and_loses_no_server(two: list[Served], program: Path, tmp_path: Path) -> None:
    (tmp_path / "gone.bc").write_bytes(b"BC\xc0\xde")
    with closing(fleet_of(*two)) as fleet:
        env = make(tmp_path / "gone.bc", fleet)
        (tmp_path / "gone.bc").unlink()
        with pytest.raises(ProgramError, match=r"gone\.bc: No such file"):
            env.reset(seed=1)
        assert not fleet.lost


@pytest.mark.parametrize("late", [0.0, 0.5])
def test_fleet_that_closes_while_one_is_lost_leaves_nothing(two: list[Served], program: Path, monkeypatch: pytest.MonkeyPatch, late: float) -> None:
    def finds_it_late(uri: str) -> str:
        time.sleep(late)
        return with_token(uri)

    fleet = fleet_of(*two)
    envs = [make(program, fleet) for _ in range(2)]
    for env in envs:
        env.reset(seed=1)
    watched = [*two[0].workers(), *two[1].workers()]
    two[0].process.kill()
    assert sorted(env.step(0)[3] for env in envs) == [False, True]
    monkeypatch.setattr("mlcb_gym.session.remote.with_token", finds_it_late)  # so that a call begins after the close
    for env in envs:
        env.reset(seed=1)
    watched += two[1].workers()
    began = time.monotonic()
    fleet.close()
    assert time.monotonic() - began < 5
    assert ends(watched)
    with pytest.raises(SessionLost, match=r"^the session is closed$"):
        envs[0].reset(seed=1)


class Other(WorkerSession):
    """A worker that understands the task otherwise."""

    def configure(self, task: str, parameters: object) -> TaskSpec:
        return super().configure(task, {"actions": [*ACTIONS, "mem2reg"]})


def test_worker_of_another_build_is_refused(program: Path) -> None:
    with closing(Fleet([WorkerSession(), Other()])) as fleet, pytest.raises(TaskError, match=r"^mlcb-worker: another posetrl than "):
        make(program, fleet)


def test_compiler_that_is_no_server_is_refused() -> None:
    with pytest.raises(TaskError, match=r"^session='pipe:': expected worker: or grpc://HOST:PORT where there are several$"):
        open_session("grpc://127.0.0.1:1,pipe:")


@contextmanager
def machines(number: int, folder: Path) -> Iterator[list[tuple[str, str]]]:
    """Network namespaces with an address each, by name; and what TLS needs in a folder."""
    names = [f"mlcb-{os.getpid()}-{i}" for i in range(number)]
    with ExitStack() as stack:
        places = []
        for i, name in enumerate(names):
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "del", name)
            ours, address = f"mlcb{os.getpid() % 100000}-{i}", f"10.213.{i}.2"
            _ip("link", "add", ours, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("address", "add", f"10.213.{i}.1/24", "dev", ours)
            _ip("link", "set", ours, "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            places.append((name, address))
        (folder / "token").write_text("secret\n")
        (folder / "token").chmod(0o600)
        named = ",".join(f"IP:{address}" for _, address in places)
        make_certificate(folder / "cert.pem", folder / "key.pem", "-addext", f"subjectAltName={named}")
        yield places


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def may_make_machines() -> bool:
    return bool(shutil.which("ip")) and subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif("not may_make_machines()", reason="network namespaces need iproute2, and the right to make them")
def test_three_machines_of_which_one_dies_and_one_is_cut_off(program: Path, tmp_path: Path) -> None:
    with machines(3, tmp_path) as places, ExitStack() as stack:
        options = f"?cert={tmp_path}/cert.pem&key={tmp_path}/key.pem&token={tmp_path}/token"
        servers = [stack.enter_context(serving(f"grpc://{address}:5000{options}", within=["ip", "netns", "exec", name])) for name, address in places]
        uris = [f"{served.uri}?ca={tmp_path}/cert.pem&token={tmp_path}/token" for served in servers]
        with closing(Fleet([RemoteSession(uri) for uri in uris])) as fleet:
            envs = [make(program, fleet, Limits(turn_seconds=1)) for _ in range(6)]
            for env in envs:
                env.reset(seed=1)
            assert [len(episodes_of(served)) for served in servers] == [2, 2, 2]
            servers[0].process.kill()
            servers[0].process.wait(SECONDS)
            _ip("-n", places[1][0], "link", "set", "eth0", "down")
            assert sum(env.step(0)[3] for env in envs) == 4
            for env in envs:
                env.reset(seed=1)
            assert list(fleet.lost) == [served.uri for served in servers[:2]]
            assert len(episodes_of(servers[2])) == 6
            _ip("-n", places[1][0], "link", "set", "eth0", "up")
            name, address = places[0]
            with serving(f"grpc://{address}:5000{options}", within=["ip", "netns", "exec", name]) as again:
                assert is_complete(fleet)
                for env in envs:
                    env.reset(seed=1)
                assert [len(episodes_of(served)) for served in (again, *servers[1:])] == [2, 2, 2]
