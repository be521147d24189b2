# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stock opt as a session under bad luck: each is one line, and no process, FIFO or folder is left behind."""

import errno
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import CompilerError, SessionLost
from mlcb_gym.session import Limits, plugin, tool_process
from mlcb_gym.session.plugin import PluginSession
from tests.support.making import making
from tests.support.posetrl import BOMB, ENDLESS
from tests.support.processes import descriptors, no_more_descriptors, signal_only

ACTIONS = [ENDLESS, "function(mem2reg)", "trigger-crash-module", "stop"]
ENDLESS_ACTION, MEM2REG, CRASH, STOP = range(4)

Make = Callable[..., PosetRLEnv]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all temporary files."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    return scratch


@pytest.fixture
def make(tmp_path: Path, scratch: Path) -> Iterator[Make]:
    """Makes environments on a program that may be inlined without end; after them nothing may be left."""
    bomb = tmp_path / "bomb.c"
    bomb.write_text(BOMB)
    before = descriptors("self")

    def new(keep: Path | None = None, **arguments: Any) -> PosetRLEnv:
        return PosetRLEnv(**{"session": PluginSession(keep=keep)} | arguments)

    with making(new, programs=bomb, actions=ACTIONS, reward="none") as make:
        yield make
    assert list(scratch.iterdir()) == []
    assert no_more_descriptors(before)
    assert compilers() == []


def compilers() -> list[int]:
    own = os.getpid()
    found = [int(pid) for pid in Path(f"/proc/{own}/task/{own}/children").read_text().split()]
    return [pid for pid in found if Path(f"/proc/{pid}/comm").read_text().strip() == "opt"]


def outcome(env: PosetRLEnv, action: int) -> tuple[str, float, bool, bool]:
    _, reward, terminated, truncated, info = env.step(action)
    assert "\n" not in info["error"]
    return info["error"], reward, terminated, truncated


def test_episode_leaves_the_module_it_made(make: Make, tmp_path: Path) -> None:
    env = make(keep=tmp_path / "out.bc")
    env.reset()
    assert env.step(STOP)[2]
    assert (tmp_path / "out.bc").read_bytes().startswith(b"BC")


def test_crash_of_a_pass_does_not_pay(make: Make) -> None:
    env = make()
    env.reset()
    assert outcome(env, CRASH) == ("opt crashed (SIGABRT)", -1.0, True, False)
    env.reset()


def test_killed_opt_truncates(make: Make) -> None:
    env = make()
    env.reset()
    signal_only(compilers(), signal.SIGKILL)
    assert outcome(env, MEM2REG) == ("the other end closed its channel or died", 0.0, False, True)
    env.reset()


@pytest.mark.alone
def test_stopped_opt_is_ended_at_the_deadline_and_truncates(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "GRACE_SECONDS", 0.2)
    env = make(limits=Limits(turn_seconds=0.8))
    env.reset()
    signal_only(compilers(), signal.SIGSTOP)
    assert outcome(env, MEM2REG) == ("the compiler was silent for 1 s", 0.0, False, True)


@pytest.mark.alone
def test_endless_pass_does_not_pay(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "GRACE_SECONDS", 0.2)
    env = make(limits=Limits(turn_seconds=0.8))
    env.reset()
    assert outcome(env, ENDLESS_ACTION) == ("opt took longer than 1 s for one turn", -1.0, True, False)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_opt_that_fails_before_it_comes_is_a_fault_of_the_machine(make: Make, monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    monkeypatch.setattr(plugin, "START_SECONDS", 0.3)
    monkeypatch.setattr(tool_process, "STOP_SECONDS", 0.1)
    started = subprocess.Popen

    def fail(*arguments: Any, **keywords: Any) -> subprocess.Popen[bytes]:
        process = started(*arguments, **keywords)
        process.send_signal(number)
        return process

    env = make()
    monkeypatch.setattr(subprocess, "Popen", fail)
    with pytest.raises(SessionLost, match="nobody opened"):
        env.reset()


def test_full_disk_at_the_start_is_one_line(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    env = make()

    def full(path: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    monkeypatch.setattr(os, "mkfifo", full)
    with pytest.raises(SessionLost, match=r"No space left on device: .*channel.in"):
        env.reset()


def test_module_that_cannot_be_kept_truncates(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    env = make(keep=tmp_path / "file" / "out.bc")
    env.reset()
    error, reward, *ended = outcome(env, STOP)
    assert "file/out.bc" in error
    assert (reward, ended) == (0.0, [False, True])


@pytest.mark.parametrize("text", ["no-such-pass", "{inline-threshold=many} default<Oz>", ""])
def test_wrong_action_is_named_when_opt_starts(make: Make, text: str) -> None:
    with pytest.raises(CompilerError, match=f"action '{text}': .") as caught:
        make(actions=[text, "stop"]).reset()
    assert "\n" not in str(caught.value)


def test_program_that_is_no_bitcode_is_named(make: Make, tmp_path: Path) -> None:
    (tmp_path / "broken.bc").write_bytes(b"BC\xc0\xde broken")
    with pytest.raises(CompilerError, match=r"broken.bc: error: ") as caught:
        make().reset(options={"program": tmp_path / "broken.bc"})
    assert "\n" not in str(caught.value)
