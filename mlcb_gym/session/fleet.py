# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workers on several machines as one session: an episode begins where the fewest run, and a worker that is lost is left out until it answers."""

import logging
import random
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mlcb_gym.errors import MlcbError, SessionLost, TaskError
from mlcb_gym.session.episode import Episode
from mlcb_gym.session.fork_server import START_SECONDS, ForkServerSession
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec

RETRY_SECONDS = 1.0
"""The interval at which a worker that is lost is asked again."""
BEGIN_SECONDS = 10.0
"""The time that a worker may take to accept an episode, beside that for its program, before it counts as lost."""
CLOSE_SECONDS = 0.1
"""The interval at which a worker that is being reached is closed again."""
ATTEMPTS = 2
"""How often an episode is tried to begin, for each worker."""

logger = logging.getLogger("mlcb_gym")


class Member:
    """A session of a fleet, its episodes that run, and why it is left out, if it is."""

    def __init__(self, session: ForkServerSession) -> None:
        self.session = session
        self.fault: MlcbError | None = None
        self.recovery: threading.Thread | None = None
        self.bound: set[str] = set()
        self._episodes: list[Episode] = []
        self._begun = random.random()  # of several processes each has another first choice

    @property
    def load(self) -> tuple[int, float]:
        """The number of episodes that run, and when the last one began."""
        self._episodes = [episode for episode in self._episodes if episode.fileno() >= 0]
        return len(self._episodes), self._begun

    def bind(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Bind a task; raise SessionLost where the worker cannot be reached."""
        self.session.reach()
        spec = self.session.configure(task, parameters)
        self.bound.add(spec.digest)
        return spec

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Start an episode; raise SessionLost where the worker is gone."""
        episode = self.session.begin_where_running(spec, request, seconds=BEGIN_SECONDS)
        self._episodes.append(episode)
        self._begun = time.monotonic()
        return episode

    def close(self) -> None:
        """End the worker, and a recovery, each of whose waits a close ends: the next may begin a moment after it."""
        until = time.monotonic() + START_SECONDS
        self.session.close()
        while self.recovery is not None and self.recovery.is_alive() and time.monotonic() < until:
            self.recovery.join(CLOSE_SECONDS)
            self.session.close()


class Fleet:
    """Several workers as one session.

    An episode begins at the worker with the fewest episodes, so that a faster one gets more. A worker that is lost is left out while a thread tries
    to reach it again; its episodes are truncated, as those of any lost compiler.

    Args:
        sessions: the workers, which the fleet closes.
    """

    takes_models: ClassVar[bool] = True

    def __init__(self, sessions: Sequence[ForkServerSession]) -> None:
        self._members = [Member(session) for session in sessions]
        self._tasks: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._changed = threading.Condition()
        self._closed = threading.Event()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Fleet":
        return self  # gymnasium.make copies its arguments; running compilers are shared

    @property
    def lost(self) -> dict[str, str]:
        """The workers that are left out, by name, and why."""
        return {member.session.name: str(member.fault) for member in self._members if member.fault is not None}

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Bind the task in every worker that can be reached.

        Raises:
            TaskError: the task cannot be bound with these parameters, or not all workers have the same.
            SessionLost: no worker can be reached.
        """
        found: TaskSpec | None = None
        for member in self._reachable(time.monotonic() + START_SECONDS):
            try:
                spec = member.bind(task, parameters)
            except SessionLost as error:
                self._leave_out(member, error)
                continue
            found = found or spec
            _check_equal(member, spec, found.digest)
        if found is None:
            raise self._none_left()
        with self._changed:
            self._tasks[found.digest] = (task, parameters)
        return found

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Start an episode where the fewest run.

        Raises:
            SessionLost: all workers are lost, and none was reached in ``START_SECONDS``; or none accepts the episode.
            ProgramError: the program cannot be read.
        """
        until = time.monotonic() + START_SECONDS
        for _ in range(ATTEMPTS * len(self._members)):
            member = min(self._reachable(until), key=lambda member: member.load)
            try:
                if spec.digest not in member.bound:  # it was lost when the task was configured
                    member.bind(*self._tasks[spec.digest])
                return member.begin(spec, request)
            except SessionLost as error:
                self._leave_out(member, error)
        raise self._none_left()

    def close(self) -> None:
        """End all workers. May be called twice."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()
        for member in self._members:
            member.close()

    def _reachable(self, until: float) -> list[Member]:
        """Wait for workers that are not lost, and return them."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed.is_set() or self._present(), max(0.0, until - time.monotonic()))
            if self._closed.is_set():
                raise SessionLost("the session is closed")
            if not (present := self._present()):
                raise self._none_left()
            return present

    def _present(self) -> list[Member]:
        return [member for member in self._members if member.fault is None]

    def _none_left(self) -> SessionLost:
        return SessionLost(f"no worker is left: {'; '.join(self.lost.values())}")

    def _leave_out(self, member: Member, fault: SessionLost) -> None:
        """Leave a worker out until it is reached again."""
        member.fault = fault
        logger.warning("%s; left out until it answers, %d of %d go on", fault, len(self._present()), len(self._members))
        member.recovery = threading.Thread(target=self._recover, args=(member,), name=f"reach {member.session.name}", daemon=True)
        member.recovery.start()

    def _recover(self, member: Member) -> None:
        """Try to reach a worker until it has all tasks again."""
        while not self._closed.is_set():
            try:
                member.bound.clear()
                member.session.reach()
                for digest, (task, parameters) in list(self._tasks.items()):
                    _check_equal(member, member.bind(task, parameters), digest)
            except MlcbError as error:
                member.fault = error
                self._closed.wait(RETRY_SECONDS)
                continue
            logger.warning("%s: answers again", member.session.name)
            with self._changed:
                member.fault = None
                self._changed.notify_all()
            return


def _check_equal(member: Member, spec: TaskSpec, digest: str) -> None:
    """Raise TaskError where a worker understands a task otherwise than another one does."""
    if spec.digest != digest:
        raise TaskError(f"{member.session.name}: another {spec.task} than the other workers have, expected equal versions of mlcb_gym and LLVM")
