# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mlcb serve` beside clients that take all they can: it refuses them, lives on, and serves the others."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mlcb_gym.envs.loop_distribution import LoopDistributionEnv
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import CompilerError, SessionLost
from mlcb_gym.session import EpisodeRequest, RemoteSession
from tests.support.posetrl import ACTIONS, BOMB, ENDLESS, begins
from tests.support.processes import descriptors
from tests.support.serving import Served, serving

ANYWHERE = "grpc://127.0.0.1:0"
PATIENCE = 10.0
"""Seconds for what must happen."""
RUNS = """
#include <stdio.h>
int main(void) {
  fclose(fopen(FILE, "w"));
  for (volatile int i = 0; i < 20000000; i++)
    ;
  return 0;
}
"""


class Asking(RemoteSession):
    """A client that says of its program, and of its limits, what it likes."""

    def __init__(self, uri: str, **said: Any) -> None:
        super().__init__(uri, seconds=PATIENCE)
        self.said = said

    def _program(self, request: EpisodeRequest) -> dict[str, Any]:
        return super()._program(request) | self.said


def begins_once(session: RemoteSession, program: Path) -> bool:
    """Whether an episode begins in this session, which ends with it."""
    with closing(session):
        return begins(session, program)


def serves(served: Served, program: Path) -> bool:
    return begins_once(RemoteSession(served.uri, seconds=PATIENCE), program)


@contextmanager
def silent(served: Served, count: int) -> Iterator[list[socket.socket]]:
    """Connections that say nothing."""
    host, _, port = served.uri.removeprefix("grpc://").partition(":")
    with ExitStack() as opened:
        yield [opened.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE)) for _ in range(count)]


@contextmanager
def at_most(pid: int, kind: int, amount: int) -> Iterator[None]:
    """A process that gets no more of a resource than so much."""
    before = resource.prlimit(pid, kind)
    resource.prlimit(pid, kind, (amount, before[1]))
    yield
    resource.prlimit(pid, kind, before)


def test_relay_serves_beside_silent_connections_and_after_them(program: Path) -> None:
    with serving(within=["prlimit", "--nofile=64:64"]) as served:
        with silent(served, 100):
            assert serves(served, program)
        assert serves(served, program)


@pytest.mark.slow
def test_silent_connections_take_few_of_the_relays_descriptors(program: Path) -> None:
    with serving() as served, silent(served, 900):
        assert serves(served, program)
        assert descriptors(served.process.pid) < 700


def test_relay_without_descriptors_refuses_a_session_and_lives_on(program: Path) -> None:
    with serving(ANYWHERE) as served:
        enough = descriptors(served.process.pid) + 4
        with at_most(served.process.pid, resource.RLIMIT_NOFILE, enough), pytest.raises(SessionLost):
            begins_once(RemoteSession(served.uri, seconds=1.0), program)
        assert serves(served, program)


def test_relay_without_threads_refuses_an_episode_and_serves_the_others(program: Path) -> None:
    with serving(ANYWHERE) as served, closing(RemoteSession(served.uri)) as session:
        env = PosetRLEnv(programs=program, actions=ACTIONS, reward="size", session=session)
        env.reset(seed=1)
        size = int(Path(f"/proc/{served.process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
        with at_most(served.process.pid, resource.RLIMIT_AS, size + (1 << 20)), pytest.raises((SessionLost, CompilerError)):
            env.fork().receive()
        assert served.process.poll() is None
        assert serves(served, program)


def test_clones_beyond_the_bound_are_refused(program: Path) -> None:
    with serving(ANYWHERE, "--episodes", "3") as served, closing(RemoteSession(served.uri)) as session, ExitStack() as made:
        env = PosetRLEnv(programs=program, actions=ACTIONS, reward="size", session=session)
        env.reset(seed=1)
        for _ in range(2):
            made.enter_context(closing(env.fork()))
        with pytest.raises(SessionLost, match="closed its channel"):
            env.fork()
        assert env.step(0)[2:4] == (False, False)


def test_idle_session_gives_its_place_back(program: Path) -> None:
    with serving(ANYWHERE, "--workers", "1", "--idle-seconds", "1") as served, closing(RemoteSession(served.uri)) as idle:
        idle.configure("posetrl", {"actions": ACTIONS})
        assert serves(served, program)


def test_path_of_the_servers_files_is_refused_unless_allowed(program: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret")
    asks = {"program": str(tmp_path / "secret"), "bitcode": ""}
    with serving() as served, pytest.raises(CompilerError, match="secret' is a path, expected bitcode") as caught:
        begins_once(Asking(served.uri, **asks), program)
    assert "\n" not in str(caught.value)
    with serving(ANYWHERE, "--paths") as served, pytest.raises(CompilerError, match="secret': expected top-level entity"):
        begins_once(Asking(served.uri, **asks), program)


@pytest.mark.parametrize("asked", [{}, {"limits": {"turn_seconds": 0}}, {"limits": {"turn_seconds": 1e300}}], ids=["default", "none", "huge"])
def test_client_only_lowers_the_servers_limits(asked: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "bomb.c").write_text(BOMB)
    with serving(ANYWHERE, "--turn-seconds", "0.3") as served, closing(Asking(served.uri, **asked)) as session:
        env = PosetRLEnv(programs=tmp_path / "bomb.c", actions=[ENDLESS, "stop"], reward="none", session=session)
        env.reset(seed=1)
        assert "took too long for one turn" in env.step(0)[4]["error"]


def test_limit_of_nearly_no_time_is_none_of_no_limit(tmp_path: Path) -> None:
    (tmp_path / "bomb.c").write_text(BOMB)
    with serving(ANYWHERE) as served, closing(Asking(served.uri, limits={"turn_seconds": 1e-9})) as session:
        env = PosetRLEnv(programs=tmp_path / "bomb.c", actions=[ENDLESS, "stop"], reward="none", session=session)
        with pytest.raises(CompilerError, match="took too long for one turn"):
            env.reset(options={"program": tmp_path / "bomb.c"})


def test_limit_that_is_none_is_named(program: Path) -> None:
    with serving() as served, pytest.raises(CompilerError, match=r"limits: cpu_seconds is -5\.0*, expected 0"):
        begins_once(Asking(served.uri, limits={"cpu_seconds": -5}), program)


def test_programs_are_run_for_clients_only_where_the_server_says_so(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(RUNS.replace("FILE", f'"{tmp_path}/ran"'))
    for options, runs in ([], False), (["--run-programs", "--sandbox", "none"], True):
        with serving(ANYWHERE, *options) as served, closing(RemoteSession(served.uri)) as session:
            env = LoopDistributionEnv(programs=source, session=session, reward="time")
            with pytest.raises(Exception, match="no decision" if runs else "is not run: this server runs none"):
                env.reset(options={"program": source})
        assert (tmp_path / "ran").exists() == runs
