# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of an evaluation, made of what episodes came to."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ParamSpec

from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Alternative, TaskRecord
from mlcb_gym.errors import TaskError
from mlcb_gym.evaluation.report import POLICY, Evaluation
from mlcb_gym.rollout.trace import Trace

P = ParamSpec("P")

SEARCH = "search"
PAIRS = ((POLICY, "best fixed sequence"), (POLICY, SEARCH))

Columns = Mapping[str, tuple[str, str]]
"""The ratios of an evaluation: by column, a metric and the one that the compiler's own heuristic comes to."""


class TraceRows:
    """An evaluation whose rows are made of traces, one per program.

    Args:
        columns: the ratios; the first one counts.
        guarded: the ratio of a method with its guard; by default the first column's where that is below 1, program by program.
        guardable: as ``TaskRecord.guardable``.
    """

    def __init__(self, evaluation: Evaluation, columns: Columns, guarded: tuple[str, str] | None = None, *, guardable: bool = True) -> None:
        self.evaluation, self._columns, self._guarded, self._guardable = evaluation, columns, guarded, guardable
        self._first = next(iter(columns))
        self._later: list[Callable[[], None]] = []

    @classmethod
    def of(cls, policy: str, programs: Sequence[Program], record: TaskRecord, env: CompilerEnv) -> "TraceRows":
        """Return an evaluation without rows, with the columns of a record; of one without, the ratio that the environment is about.

        Raises:
            TaskError: there is none.
        """
        columns = record.columns or ({env.objective[0]: env.objective} if env.objective else {})
        if not columns:
            raise TaskError(f"{env.task}: an evaluation needs an outcome, expected a reward that measures")
        names, projects = [p.name for p in programs], [p.project for p in programs]
        evaluation = Evaluation(policy=policy, programs=names, projects=projects, baseline=record.baseline, pairs=PAIRS)
        return cls(evaluation, columns, record.guarded, guardable=record.guardable)

    def later(self, add: Callable[P, None], *arguments: P.args, **options: P.kwargs) -> None:
        """Adds rows by this call when ``settle`` is called: their traces are planned, but not played yet."""
        self._later.append(partial(add, *arguments, **options))

    def settle(self) -> None:
        """Adds all rows that were left for later, in their order."""
        for add in self._later:
            add()
        self._later.clear()

    def add(self, method: str, *tried: Sequence[Trace]) -> None:
        """Adds the trace of each program; of several the one with the lowest ratio, at the price of all. A failed episode is in ``failures``."""
        by_program = list(zip(*tried, strict=True))
        best = [min(traces, key=lambda trace: trace.scored_in(*self._columns[self._first])) for traces in by_program]
        ratios = {column: [trace.scored_in(*pair) for trace in best] for column, pair in self._columns.items()}
        self.evaluation.add(method, ratios, seconds=[_sum([t.seconds for t in traces]) for traces in by_program], failures=_failures(best))

    def add_alternative(self, method: str, traces: Sequence[Trace], alternative: Alternative) -> None:
        """Adds another outcome of the episodes than the one of their decisions; and the same with its guard, where it is not guarded itself. A failed
        episode is in ``failures``.
        """
        ratios = {column: [trace.scored_in(*pair) for trace in traces] for column, pair in alternative.columns.items()}
        self.evaluation.add(method, ratios, failures=_failures(traces))
        if alternative.guarded:
            self.evaluation.add(f"{method}, guarded", {self._first: [trace.scored_in(*alternative.guarded) for trace in traces]})

    def add_guarded(self, method: str, traces: Sequence[Trace]) -> None:
        """Adds the method, and the method with its guard, where the task has one."""
        self.add(method, traces)
        if not self._guardable:
            return
        if self._guarded:
            self.evaluation.add(f"{method}, guarded", {self._first: [trace.scored_in(*self._guarded) for trace in traces]})
            return
        better = [ratio is not None and ratio < 1 for ratio in self.evaluation.ratios[self._first][method]]
        kept = {
            column: [ratio if keep else 1.0 for ratio, keep in zip(self.evaluation.ratios[column][method], better, strict=True)]
            for column in self._columns
        }
        self.evaluation.add(f"{method}, guarded", kept)

    def add_baseline(self, traces: Sequence[Trace] | None = None) -> None:
        """Adds the baseline: 1 by definition, so that of its episodes only the seconds are taken."""
        ones: Mapping[str, Sequence[float | None]] = {column: [1.0] * len(self.evaluation.programs) for column in self._columns}
        self.evaluation.add(self.evaluation.baseline, ones, seconds=[trace.seconds for trace in traces or ()])


def _failures(traces: Sequence[Trace]) -> list[str]:
    """Return the program and the reason of each episode that failed."""
    return [f"{trace.program}: {trace.error.removeprefix(f'{trace.program}: ')}" for trace in traces if trace.error]


def _sum(seconds: Sequence[float | None]) -> float | None:
    known = [s for s in seconds if s is not None]
    return sum(known) if len(known) == len(seconds) else None
