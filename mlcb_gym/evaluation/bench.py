# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes of many programs side by side."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.evaluation.journal import Journal
from mlcb_gym.progress_bar import progress_bar
from mlcb_gym.rollout.play import Decide, Script, episode, numbered, persistent, play
from mlcb_gym.rollout.pool import EnvPool
from mlcb_gym.rollout.trace import Trace


class Bench:
    """The programs of an evaluation in several environments at once: seconds are those of a compiler's own thread."""

    def __init__(self, pool: EnvPool, programs: Sequence[Program], journal: Journal | None = None) -> None:
        self._pool, self.programs, self._journal = pool, programs, journal

    def env(self, **arguments: Any) -> CompilerEnv:
        """Return one of the environments with these arguments."""
        return self._pool.envs(**arguments)[0]

    def run(self, choose: Decide, label: str, **arguments: Any) -> list[Trace]:
        """Return one trace per program, in their order."""
        return self.play(partial(episode, choose=choose), label, **arguments)

    def play(self, script: Callable[[Program], Script[Trace]], label: str, **arguments: Any) -> list[Trace]:
        """Return the result of a script on each program, in their order; where the machine failed, of another attempt."""

        def played(numbers: Iterable[int]) -> Iterator[tuple[int, Trace]]:
            scripts = (numbered(number, persistent(partial(script, self.programs[number]))) for number in numbers)
            return play(self._pool.envs(**arguments), scripts)

        return self._stage(label, played)

    def each(self, find: Callable[[CompilerEnv, Program], Trace], label: str) -> list[Trace]:
        """Return what is found for each program in one environment, one program after another, in their order."""
        return self._stage(label, lambda numbers: ((number, find(self.env(), self.programs[number])) for number in numbers))

    def _stage(self, label: str, played: Callable[[Iterable[int]], Iterator[tuple[int, Trace]]]) -> list[Trace]:
        """Play the programs of these numbers that the journal does not know, and keep their traces. Return all."""
        traces = self._journal.next_stage() if self._journal else {}
        left = [number for number in range(len(self.programs)) if number not in traces]
        shown = progress_bar(left, description=label)
        for number, trace in played(shown) if left else ():
            traces[number] = trace
            if self._journal and not trace.lost:
                self._journal.keep(number, trace)
        return [traces[number] for number in range(len(self.programs))]

    def unchanged(self) -> list[Trace]:
        """Return the traces of programs that are left to the compiler's own heuristic."""
        return [Trace(program.name, (), (1.0,)) for program in self.programs]

    def close(self) -> None:
        """Closes the environments, and the journal."""
        self._pool.close()
        if self._journal:
            self._journal.close()
