# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes of many programs side by side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.evaluation.journal import Journal
from mlcb_gym.progress_bar import progress_bar
from mlcb_gym.rollout.play import Decide, Script, episode, numbered, persistent, play
from mlcb_gym.rollout.pool import EnvPool
from mlcb_gym.rollout.trace import Trace

TOGETHER = 8
"""Programs that all methods play before the next ones: a worker keeps snapshots of more, from which later episodes begin."""


@dataclass(frozen=True)
class _Stage:
    """A method that plays each program once.

    Args:
        script: what plays a program.
        arguments: of its environments.
        known: the traces so far, by the number of the program.
        traces: all, in the order of the programs, once there are.
    """

    number: int
    label: str
    script: Callable[[Program], Script[Trace]]
    arguments: Mapping[str, Any]
    known: dict[int, Trace]
    traces: list[Trace]


class Bench:
    """The programs of an evaluation in several environments at once: seconds are those of a compiler's own thread.

    Methods are planned first: those in equal environments are played together.
    """

    def __init__(self, pool: EnvPool, programs: Sequence[Program], journal: Journal | None = None) -> None:
        self._pool, self.programs, self._journal = pool, programs, journal
        self._stages, self._planned = 0, list[_Stage]()

    def env(self, **arguments: Any) -> CompilerEnv:
        """Return one of the environments with these arguments."""
        return self._pool.envs(**arguments)[0]

    def run(self, choose: Decide, label: str, **arguments: Any) -> list[Trace]:
        """Plan an episode of each program; return the list that will have their traces after ``finish``, in the order of the programs."""
        return self.play(partial(episode, choose=choose), label, **arguments)

    def play(self, script: Callable[[Program], Script[Trace]], label: str, **arguments: Any) -> list[Trace]:
        """Plan a script on each program, as ``run`` does; where the machine fails, it is played again."""
        number, known = self._begin()
        self._planned.append(_Stage(number, label, script, arguments, known, []))
        return self._planned[-1].traces

    def each(self, find: Callable[[CompilerEnv, Program], Trace], label: str) -> list[Trace]:
        """Return what is found for each program in one environment, one program after another, in their order."""
        stage, known = self._begin()
        for number in progress_bar(self._left(known), description=label):
            known[number] = self._kept(stage, number, find(self.env(), self.programs[number]))
        return self._in_order(known)

    def finish(self) -> None:
        """Play all that is planned and that the journal does not know."""
        planned, self._planned = sorted(self._planned, key=_environments), []
        for _, together in groupby(planned, key=_environments):
            self._play_together(list(together))
        for stage in planned:
            stage.traces[:] = self._in_order(stage.known)

    def unchanged(self) -> list[Trace]:
        """Return the traces of programs that are left to the compiler's own heuristic."""
        return [Trace(program.name, (), (1.0,)) for program in self.programs]

    def close(self) -> None:
        """Closes the environments, and the journal."""
        self._pool.close()
        if self._journal:
            self._journal.close()

    def _begin(self) -> tuple[int, dict[int, Trace]]:
        """Return the number of the next method, and what the journal knows of it."""
        self._stages += 1
        return self._stages, self._journal.known(self._stages) if self._journal else {}

    def _left(self, known: Mapping[int, Trace]) -> list[int]:
        return [number for number in range(len(self.programs)) if number not in known]

    def _in_order(self, known: Mapping[int, Trace]) -> list[Trace]:
        return [known[number] for number in range(len(self.programs))]

    def _play_together(self, stages: Sequence[_Stage]) -> None:
        left = sorted((number // TOGETHER, stage.number, number) for stage in stages for number in self._left(stage.known))
        by_number = {stage.number: stage for stage in stages}
        label = stages[0].label if len(stages) == 1 else f"{len(stages)} methods"

        def scripts() -> Iterator[Script[tuple[tuple[int, int], Trace]]]:
            for _, which, number in progress_bar(left, description=label):
                yield numbered((which, number), persistent(partial(by_number[which].script, self.programs[number])))

        if left:
            for (which, number), trace in play(self._pool.envs(**stages[0].arguments), scripts()):
                by_number[which].known[number] = self._kept(which, number, trace)

    def _kept(self, stage: int, number: int, trace: Trace) -> Trace:
        """Keep a trace in the journal, unless it is to be played again."""
        if self._journal and not trace.lost:
            self._journal.keep(stage, number, trace)
        return trace


def _environments(stage: _Stage) -> str:
    """Return what is equal for stages in the same environments."""
    return repr(sorted(stage.arguments.items()))
