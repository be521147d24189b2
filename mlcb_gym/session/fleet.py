# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workers on several machines as one session: an episode begins where the fewest run, and a worker that is lost is left out until it answers."""

import logging
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
"""The time that a worker may take to hear of an episode, before it counts as lost."""

logger = logging.getLogger("mlcb_gym")


class Member:
    """A session of a fleet, its episodes that run, and why it is left out, if it is."""

    def __init__(self, session: ForkServerSession) -> None:
        self.session = session
        self.lost: MlcbError | None = None
        self.recovery: threading.Thread | None = None
        self._episodes: list[Episode] = []

    def running(self) -> int:
        """Return the number of episodes that run."""
        self._episodes = [episode for episode in self._episodes if episode.fileno() >= 0]
        return len(self._episodes)

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts an episode; raises SessionLost where the worker is gone."""
        episode = self.session.begin_where_running(spec, request, seconds=BEGIN_SECONDS)
        self._episodes.append(episode)
        return episode


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
        self._specs: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._present = threading.Condition()
        self._closed = threading.Event()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Fleet":
        return self  # gymnasium.make copies its arguments; running compilers are shared

    @property
    def lost(self) -> dict[str, str]:
        """The workers that are left out, by name, and why."""
        return {member.session.name: str(member.lost) for member in self._members if member.lost is not None}

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task in every worker that is not lost.

        Raises:
            TaskError: the task cannot be bound with these parameters, or not all workers have the same.
            SessionLost: a worker cannot be reached.
        """
        members = self._reachable(time.monotonic() + START_SECONDS)
        specs = [member.session.configure(task, parameters) for member in members]
        for member, spec in zip(members, specs, strict=True):
            _check_equal(member, spec, specs[0].digest)
        self._specs[specs[0].digest] = (task, parameters)
        return specs[0]

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts an episode where the fewest run.

        Raises:
            SessionLost: all workers are lost, and none was reached in ``START_SECONDS``.
        """
        until = time.monotonic() + START_SECONDS
        while True:
            member = min(self._reachable(until), key=Member.running)
            try:
                return member.begin(spec, request)
            except SessionLost as error:
                self._leave_out(member, error)

    def close(self) -> None:
        """Ends all workers. May be called twice."""
        self._closed.set()
        for member in self._members:
            member.session.close()  # ends the waits of its recovery
        for member in self._members:
            if member.recovery is not None:
                member.recovery.join()
            member.session.close()

    def _reachable(self, until: float) -> list[Member]:
        """Wait for workers that are not lost, and return them."""
        with self._present:
            if not self._present.wait_for(self._present_members, max(0.0, until - time.monotonic())):
                raise SessionLost(f"no worker is left: {'; '.join(self.lost.values())}")
            return self._present_members()

    def _present_members(self) -> list[Member]:
        return [member for member in self._members if member.lost is None]

    def _leave_out(self, member: Member, error: SessionLost) -> None:
        """Leaves a worker out until it is reached again."""
        member.lost = error
        logger.warning("%s; left out until it answers, %d of %d go on", error, len(self._present_members()), len(self._members))
        member.recovery = threading.Thread(target=self._recover, args=(member,), name=f"reach {member.session.name}", daemon=True)
        member.recovery.start()

    def _recover(self, member: Member) -> None:
        """Tries to reach a worker until it has all tasks again."""
        while not self._closed.is_set():
            try:
                member.session.reach()
                for digest, (task, parameters) in list(self._specs.items()):
                    _check_equal(member, member.session.configure(task, parameters), digest)
            except MlcbError as error:
                member.lost = error
                self._closed.wait(RETRY_SECONDS)
                continue
            with self._present:
                member.lost = None
                self._present.notify_all()
            return logger.warning("%s: answers again", member.session.name)


def _check_equal(member: Member, spec: TaskSpec, digest: str) -> None:
    """Raise TaskError where a worker understands a task otherwise than another one does."""
    if spec.digest != digest:
        raise TaskError(f"{member.session.name}: another {spec.task} than the other workers have, expected equal versions of mlcb_gym and LLVM")
