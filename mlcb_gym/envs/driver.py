# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler beneath an environment: its session, the bound task, and the episode that runs."""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlcb_gym import _native
from mlcb_gym.corpus.programs import Program
from mlcb_gym.errors import CompilerError, MlcbError, NoDecisions, SessionLost
from mlcb_gym.session import EpisodeRequest, FunctionSession, RunningEpisode, Session
from mlcb_gym.spec import TaskSpec

MAX_REDRAWS = 20
"""Drawn programs that may fail, or leave nothing to decide, before ``first`` gives up."""


@dataclass
class Timing:
    """Counts and seconds of an environment. They are no part of ``info``, which is equal for equal runs.

    Args:
        steps: steps taken.
        episodes: episodes begun.
        redrawn: programs that were drawn in place of others.
        waiting: seconds that Python waited for the compiler.
        cache: hits and misses of the worker's cache of sizes, of all its environments, when the last episode began.
    """

    steps: int = 0
    episodes: int = 0
    redrawn: int = 0
    waiting: float = 0.0
    cache: Mapping[str, int] = field(default_factory=dict)


class Driver:
    """A compiler that plays episodes of one bound task, one at a time.

    Args:
        task: its name.
        parameters: what it is bound with.
        request: what every episode is started with, but for its program.
        session: the compiler.
        owned: whether ``close`` ends the compiler.
        wrap: from the session to the one that episodes are begun in, as ``FunctionSession``.
        check: raises TaskError where the bound task does not have what the environment needs.

    Raises:
        TaskError: the task cannot be bound with these parameters.
    """

    def __init__(
        self,
        task: str,
        parameters: Mapping[str, Any],
        request: EpisodeRequest,
        *,
        session: Session,
        owned: bool,
        wrap: Callable[[Session], Session],
        check: Callable[[TaskSpec], None],
    ) -> None:
        self.session, self.timing = session, Timing()
        self._request, self._owned, self._source = request, owned, wrap(session)
        self._episode: RunningEpisode | None = None
        self._successor: RunningEpisode | None = None
        self._closed = False
        try:
            self.spec = session.configure(task, parameters)
            check(self.spec)
        except BaseException:
            self.close()
            raise

    @property
    def is_running(self) -> bool:
        """Whether an episode runs."""
        return self._episode is not None

    @property
    def takes_models(self) -> bool:
        """Whether models in the compiler can take the decisions of an episode."""
        return self._source.takes_models

    @property
    def by_function(self) -> bool:
        """Whether an episode is one function of its program."""
        return isinstance(self._source, FunctionSession)

    def begin(self, program: Program) -> None:
        """Starts an episode; ``first`` waits for its first observation.

        Raises:
            SessionLost: the compiler cannot be reached, or ``close`` was called.
        """
        if self._closed:
            raise SessionLost("the environment is closed")
        self.leave()
        self.drop_successor()
        self.program = program
        self._episode = self._source.begin(self.spec, replace(self._request, program=program.bitcode))

    def resume(self) -> bool:
        """Starts the episode that follows the last one in the same program; False where there is none."""
        if self._successor is None:
            return False
        self._episode, self._successor = self._successor, None
        return True

    def first(self, redraw: Callable[[MlcbError], Program] | None) -> _native.Message:
        """Waits for the first observation. Where the program fails or leaves nothing to decide, an episode of another one is started.

        Args:
            redraw: draws a program in place of one that came to an error; None where no other will do.

        Raises:
            CompilerError: the compiler cannot read the program.
            NoDecisions: the program leaves nothing to decide.
            SessionLost: the compiler is gone.
        """
        redraws, restarts = (0, 0) if redraw is None else (MAX_REDRAWS, 1)
        failed: list[Program] = []
        while True:
            try:
                return self._first()
            except (NoDecisions, CompilerError) as error:
                failed.append(program := self.program)
                while program in failed:  # it may have taken all the time of a turn, and would again
                    redraws -= 1
                    if redraw is None or redraws < 0:
                        raise
                    program = redraw(error)
            except SessionLost as error:
                restarts -= 1
                if redraw is None or restarts < 0 or self._closed:
                    raise
                program = redraw(error)
            self.timing.redrawn += 1
            self.begin(program)

    def advise(self, advice: int | float) -> None:
        """Sends advice for the last observation. A compiler that is gone is an error of ``receive``."""
        if (episode := self._episode) is not None:
            episode.advise(advice)

    def delegate(self, models: Sequence[bytes]) -> None:
        """Lets models in the compiler take the remaining decisions.

        Raises:
            TaskError: the compiler takes no models, or not so many.
        """
        self._running().delegate(models)
        self._request = replace(self._request, models=True)  # the next episode will have its decisions taken so, too

    def receive(self) -> _native.Message:
        """Waits for the next observation, or the end of the episode.

        Raises:
            CompilerError: the compiler failed on what it was advised. The episode is over.
            SessionLost: the compiler is gone. The episode is over.
        """
        episode, started = self._running(), time.perf_counter()
        try:
            return episode.receive()
        except (CompilerError, SessionLost):
            self.leave()
            raise
        finally:
            self.timing.waiting += time.perf_counter() - started

    def ready(self) -> bool:
        """Whether ``receive`` returns or raises at once; True where no episode runs."""
        episode = self._episode
        return episode is None or episode.ready()

    def fileno(self) -> int:
        """Return the descriptor to wait on until ``ready``, as a selector does; -1 where no episode runs."""
        episode = self._episode
        return -1 if episode is None else episode.fileno()

    def fork(self) -> "Driver":
        """Return a second driver at the same decision of the same episode, with its own times."""
        clone = copy.copy(self)
        clone._owned, clone.timing = False, Timing()
        clone._episode = self._running().fork()
        clone.receive()
        return clone

    def leave(self) -> None:
        """Ends the episode, if one runs. The one that follows it in the same program waits for ``resume``."""
        episode, self._episode = self._episode, None
        if episode is not None:
            self._successor = episode.successor()
            episode.close()

    def drop_successor(self) -> None:
        """Ends the episode that waits for ``resume``."""
        successor, self._successor = self._successor, None
        if successor is not None:
            successor.close()

    def close(self) -> None:
        """Ends the episode and, where it is owned, the compiler. May be called twice, and while another thread waits: its episode is lost."""
        self._closed = self._owned  # one that was given may begin anew
        self.leave()
        self.drop_successor()
        if self._owned:
            self.session.close()

    def _first(self) -> _native.Message:
        try:
            message = self.receive()
        except CompilerError as error:
            raise CompilerError(f"{self.program.name}: {error}") from error
        if message.kind == "episode_end":
            self.leave()
            raise NoDecisions(f"{self.program.name}: the compiler asks for no decision")
        self.timing.episodes += 1
        self.timing.cache = self._running().cache
        return message

    def _running(self) -> RunningEpisode:
        """Return the episode; one that another thread closed is lost."""
        episode = self._episode
        if episode is None:
            raise SessionLost("the episode was closed meanwhile")
        return episode
