# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What begins alike again takes up from a snapshot at the first question: with the same answers, and nothing left behind."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.session import Limits, WorkerSession
from tests.support.making import making
from tests.support.processes import descriptors, ends, left

PROGRAM, OTHER = "embedded/validation/huffman", "embedded/train/fft"
SEED = 1
Make = Callable[..., InlinerEnv]


@pytest.fixture
def session() -> Iterator[WorkerSession]:
    session = WorkerSession()
    yield session
    session.close()


@pytest.fixture
def make(session: WorkerSession) -> Iterator[Make]:
    """Makes environments in that worker, and closes them."""
    with making(InlinerEnv, programs=PROGRAM, session=session) as make:
        yield make


def played(env: InlinerEnv) -> list[tuple[dict[str, list[Any]], float, dict[str, Any]]]:
    """All that is seen of an episode of random answers, always the same ones."""
    rng = np.random.default_rng(SEED)
    observation, info = env.reset()
    seen, ended = [(plain(observation), 0.0, plain(info))], False
    while not ended:
        observation, reward, ended, _, info = env.step(int(rng.integers(2)))
        seen.append((plain(observation), reward, plain(info)))
    return seen


def plain(named: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in named.items()}


def test_episodes_are_the_same_with_and_without_snapshots(make: Make, session: WorkerSession) -> None:
    with closing(WorkerSession(snapshots=0)) as without:
        expected = played(make(session=without))
    env = make()
    assert [played(env) for _ in range(4)] == [expected] * 4
    left(session.pid, 1)


def test_only_what_begins_alike_takes_up_from_a_snapshot(make: Make, session: WorkerSession) -> None:
    for _ in range(3):
        played(make())
    bounded, forbidden = make(limits=Limits(cpu_seconds=9)), make(forbidden=(1,))
    assert forbidden.reset()[1]["action_mask"].tolist() == [1, 0]
    bounded.reset()
    left(session.pid, 3)  # the snapshot, which is of neither, and two episodes that left none


def test_a_clone_of_an_episode_from_a_snapshot_is_the_worker_s_child(make: Make, session: WorkerSession) -> None:
    env = make()
    for _ in range(3):
        env.reset()
    with closing(env.fork()) as clone:
        left(session.pid, 3)  # the snapshot, the episode, and its clone
        assert plain(env.step(1)[0]) == plain(clone.step(1)[0])


def test_a_snapshot_that_is_killed_is_done_without(make: Make, session: WorkerSession) -> None:
    env = make()
    expected = [played(env) for _ in range(3)][-1]
    worker, (snapshot,) = session.pid, left(session.pid, 1)
    watched = os.pidfd_open(snapshot)
    os.kill(snapshot, signal.SIGKILL)
    assert ends([watched])
    assert played(env) == expected
    assert session.pid == worker


def test_as_many_snapshots_as_are_asked_for(make: Make) -> None:
    with closing(WorkerSession(snapshots=1)) as session:
        one, other = make(session=session), make(session=session, programs=OTHER)
        for env in (one, one, one, other, other, other):
            played(env)
        left(session.pid, 1)


def test_snapshots_end_with_the_worker_and_leave_no_descriptors(make: Make, session: WorkerSession) -> None:
    env = make()
    played(env)
    left(session.pid, 0)
    before = descriptors(session.pid)
    for _ in range(3):
        played(env)
    watched = [os.pidfd_open(pid) for pid in left(session.pid, 1)]
    assert descriptors(session.pid) == before + 1
    session.close()
    assert ends(watched)
