# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluation of a policy by the metrics of modules, against the compiler's own heuristic and policies that do not learn."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import ReferencePolicy, TaskRecord
from mlcb_gym.errors import MlcbError, NoDecisions, TaskError
from mlcb_gym.evaluation.linked_size import evaluate_linked
from mlcb_gym.evaluation.report import COUNTS, POLICY, Evaluation
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import Decide, Script, episode, play_in_order, replay
from mlcb_gym.rollout.pool import EnvPool
from mlcb_gym.rollout.random_policy import random
from mlcb_gym.rollout.trace import Trace
from mlcb_gym.search.counterfactual import improve

SEARCH = "search"
PAIRS = ((POLICY, "best fixed sequence"), (POLICY, SEARCH))
SETTLED = {"programs", "reward", "dense", "metrics"}
"""Arguments of an environment that an evaluation settles itself."""

Columns = Mapping[str, tuple[str, str]]
"""The ratios of an evaluation: by column, a metric and the one that the compiler's own heuristic comes to."""


def evaluate_metrics(
    folder: Path,
    programs: ProgramsLike,
    *,
    best_of: Sequence[int] = COUNTS,
    search: bool = False,
    linked: str | None = None,
    seed: int = 1,
    environment: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Evaluate a policy folder, one greedy episode a program, as the record of its task has it. A program without a decision counts as 1.

    Args:
        best_of: the numbers of random episodes, and of policies of a portfolio, of which the best is taken.
        search: also search every program for itself (see ``improve``), in hundreds of episodes each.
        linked: programs whose executables are compared too.
        environment: arguments of all environments, beside those of the policy.

    Raises:
        TaskError: the task is not searched, not about size, or measures nothing; or an argument of ``environment`` is the evaluation's own.
    """
    policy, chosen = OnnxPolicy(folder), resolve(programs)
    made = env_class(policy.task)
    arguments = policy.env_arguments | _checked(made, environment or {}) | dict(made.record.evaluation)
    if linked and "size" not in made.record.columns:
        raise TaskError(f"{made.task}: not judged by size, expected no argument linked")
    whole = resolve(linked) if linked else ()
    with closing(Bench(EnvPool(made, programs=chosen, **arguments), chosen)) as bench:
        if search:
            _check_searched(bench.env())
        rows = TraceRows.of(folder.name, chosen, made.record, bench.env())
        rows.add_guarded(POLICY, bench.run(_player(policy, bench.env(), made.record), POLICY))
        _add_references(rows, bench, made.record)
        if search:
            rows.add(SEARCH, [searched(bench.env(), program) for program in track(chosen, description=SEARCH, transient=True)])
        _add_best(rows, bench, made.record, best_of, seed)
    if whole:
        sizes = evaluate_linked(folder, whole)
        rows.evaluation.notes.append(f"linked, {sizes.programs} programs: size / -Oz {sizes.mean:.4f} ({sizes.by_program})")
    return rows.evaluation


class Bench:
    """The programs of an evaluation in several environments at once: seconds are those of a compiler's own thread."""

    def __init__(self, pool: EnvPool, programs: Sequence[Program]) -> None:
        self._pool, self._programs = pool, programs

    def env(self, **arguments: Any) -> CompilerEnv:
        """Return one of the environments with these arguments."""
        return self._pool.envs(**arguments)[0]

    def run(self, choose: Decide, label: str, **arguments: Any) -> list[Trace]:
        """Return one trace per program, in their order."""
        return self.play(partial(episode, choose=choose), label, **arguments)

    def play(self, script: Callable[[Program], Script[Trace]], label: str, **arguments: Any) -> list[Trace]:
        """Return the result of a script on each program, in their order."""
        shown = track(self._programs, description=label, transient=True, disable=not sys.stdout.isatty())
        return play_in_order(self._pool.envs(**arguments), map(script, shown))

    def close(self) -> None:
        """Closes the environments."""
        self._pool.close()


class TraceRows:
    """An evaluation whose rows are made of traces, one per program.

    Args:
        columns: the ratios; the first one counts.
        guarded: the ratio of a method with its guard; by default the first column's where that is below 1, program by program.
    """

    def __init__(self, evaluation: Evaluation, columns: Columns, guarded: tuple[str, str] | None = None) -> None:
        self.evaluation, self._columns, self._guarded = evaluation, columns, guarded
        self._first = next(iter(columns))

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
        return cls(Evaluation(policy=policy, programs=names, projects=projects, baseline=record.baseline, pairs=PAIRS), columns, record.guarded)

    def add(self, method: str, *tried: Sequence[Trace]) -> None:
        """Adds the trace of each program; of several the one with the lowest ratio, at the price of all. A failed episode is in ``failures``."""
        by_program = list(zip(*tried, strict=True))
        best = [min(traces, key=lambda trace: trace.scored_in(*self._columns[self._first])) for traces in by_program]
        ratios = {column: [trace.scored_in(*pair) for trace in best] for column, pair in self._columns.items()}
        failures = [f"{trace.program}: {trace.error}" for trace in best if trace.error]
        self.evaluation.add(method, ratios, seconds=[_sum([t.seconds for t in traces]) for traces in by_program], failures=failures)

    def add_guarded(self, method: str, traces: Sequence[Trace]) -> None:
        """Adds the method, and the method with its guard."""
        self.add(method, traces)
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


def _checked(made: type[CompilerEnv], environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that neither the policy nor the evaluation decides about."""
    settled = SETTLED | set(made.parameters) | set(made.record.evaluation)
    if taken := sorted(settled & set(environment)):
        raise TaskError(f"{made.task}: {', '.join(taken)}: settled by the policy and by the evaluation of its task, expected another argument")
    return dict(environment)


def _player(policy: OnnxPolicy, env: CompilerEnv, record: TaskRecord) -> Decide:
    """Return the policy: in the compiler, where it takes models, unless its time is measured, step by step."""
    timed = "llvm_seconds" in record.evaluation.get("metrics", ())
    return policy.delegate if env.takes_models and not timed else policy.player(env)


def _add_references(rows: TraceRows, bench: Bench, record: TaskRecord) -> None:
    """Adds the baseline and the policies that do not learn; with their guard, where that is function by function."""
    add = rows.add_guarded if record.guarded else rows.add
    if record.baseline not in record.reference_policies:
        rows.add_baseline()
    for method, reference in record.reference_policies.items():
        traces = _run(bench, method, reference)
        rows.add_baseline(traces) if method == record.baseline else add(method, traces)


def _add_best(rows: TraceRows, bench: Bench, record: TaskRecord, counts: Sequence[int], seed: int) -> None:
    """Adds the best of the first policies of each portfolio, and of random episodes, for each of the counts."""
    for name, portfolio in record.portfolios.items():
        tried = [_run(bench, f"{name} {i + 1}", reference) for i, reference in enumerate(portfolio[: max(counts)])]
        for count in counts:
            if count <= len(tried):
                rows.add(f"{name}, best of {count}", *tried[:count])
    drawn = [bench.play(partial(random_episode, seed=(seed, i)), f"random {i + 1}", **record.random) for i in range(max(counts))]
    for count in counts:
        rows.add(f"random, best of {count}", *drawn[:count])


def _run(bench: Bench, label: str, reference: ReferencePolicy) -> list[Trace]:
    return bench.run(reference.choose, label[:40], **reference.arguments)


def random_episode(program: Program, seed: tuple[int, int]) -> Script[Trace]:
    """Return a random episode that depends on the program and the seed alone."""
    return episode(program, random(np.random.default_rng([*seed, int(program.digest[:8], 16)])))


def _check_searched(env: CompilerEnv) -> None:
    if env.heuristic is None or env.num_actions != 2:
        raise TaskError(f"{env.task}: a search tries the other of two answers at every decision of a heuristic, which this task has not")


def searched(env: CompilerEnv, program: Program) -> Trace:
    """Search a program and play the episode that was found. ``Trace.error`` has the reason where the search failed."""
    try:
        decisions = improve(env, program, env.default_action)
    except NoDecisions:
        return Trace(program.name, (), (1.0,))
    except MlcbError as error:
        return Trace(program.name, (), (), str(error))
    last = decisions[-1]
    (trace,) = play_in_order([env], [replay(program, (*last.taken, int(last.outcomes.argmin())))])
    return trace


def _sum(seconds: Sequence[float | None]) -> float | None:
    known = [s for s in seconds if s is not None]
    return sum(known) if len(known) == len(seconds) else None
