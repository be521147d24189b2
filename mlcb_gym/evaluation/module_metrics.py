# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluation of a policy by the metrics of modules, against the compiler's own heuristic and policies that do not learn."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.module_measure import empty_modules
from mlcb_gym.envs.record import Alternative, Observation, ReferencePolicy, TaskRecord
from mlcb_gym.errors import MlcbError, NoDecisions, ProgramError, SessionLost, TaskError, ToolchainError
from mlcb_gym.evaluation.bench import Bench
from mlcb_gym.evaluation.journal import Journal
from mlcb_gym.evaluation.linked_size import evaluate_linked
from mlcb_gym.evaluation.report import COUNTS, POLICY, Evaluation, check_counts
from mlcb_gym.evaluation.stock_ways import evaluate_stock
from mlcb_gym.evaluation.trace_rows import SEARCH, TraceRows
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import Choose, Decide, Script, episode, play_in_order, replay
from mlcb_gym.rollout.pool import EnvPool
from mlcb_gym.rollout.random_policy import random, rng_of
from mlcb_gym.rollout.trace import Trace
from mlcb_gym.search.candidates import Default, best_of_each, nth_allowed, nth_preferred
from mlcb_gym.search.strategies import counterfactual
from mlcb_gym.spec import MASK

SETTLED = {"programs", "reward", "dense", "metrics"}
"""Arguments of an environment that an evaluation settles itself."""


def evaluate_metrics(
    folder: Path,
    programs: ProgramsLike,
    *,
    best_of: Sequence[int] = COUNTS,
    candidates: Sequence[int] = (),
    references: bool = True,
    search: bool = False,
    linked: str | None = None,
    seed: int = 1,
    environment: Mapping[str, Any] | None = None,
    journal: Journal | None = None,
) -> Evaluation:
    """Evaluate a policy folder, one greedy episode a program, as the record of its task has it.

    A program without a decision counts as 1, one that fails as ``Trace.scored``, with a penalty; one without a function is left out.

    Args:
        best_of: the numbers of random episodes, and of policies of a portfolio, of which the best is taken.
        candidates: numbers of actions that are tried, as -mlcb-candidates does.
        references: also play the policies that do not learn.
        search: also search every program for itself, in hundreds or thousands of episodes each, where the compiler has a heuristic of its own.
        linked: programs whose executables are compared too, as embedded/test; where size counts.
        environment: arguments of all environments, beside those of the policy.
        journal: keeps the episodes until the evaluation is whole; those that it has are not played again.

    Raises:
        ProgramError: no program has a function.
        TaskError: the task is not searched, not about size, or measures nothing; or an argument of ``environment`` is the evaluation's own.
    """
    check_counts(best_of=best_of, candidates=candidates)
    policy, chosen = OnnxPolicy(folder), resolve(programs)
    made = env_class(policy.task)
    if linked and "size" not in made.record.columns:
        raise TaskError(f"{made.task}: not judged by size, expected no argument linked")
    arguments = _with_columns(made, chosen, policy.env_arguments | _checked(made, environment or {}) | dict(made.record.evaluation))
    whole = resolve(linked) if linked else ()
    if journal:
        journal.begin(_digest(folder, chosen, arguments, best_of, candidates, references, search, seed))
    with closing(Bench(EnvPool(made, programs=chosen, **arguments), chosen, journal)) as bench:
        if search:
            _check_searched(bench.env())
        if candidates:
            _check_decided_apart(policy, made.record)
        traces = bench.run(_player(policy, bench.env(), made.record), POLICY)
        bench.finish()
        traces, left_out = _without_empty(bench, traces)
        rows = TraceRows.of(folder.name, bench.programs, made.record, bench.env())
        rows.evaluation.left_out = left_out
        rows.add_guarded(POLICY, traces)
        _add_candidates(rows, bench, policy, made.record, candidates)
        if references:
            _add_references(rows, bench, made.record)
        else:
            rows.later(rows.add_baseline)
        if search:
            rows.later(rows.add, SEARCH, bench.each(searched, SEARCH))
        _add_best(rows, bench, made.record, best_of, seed)
        bench.finish()
        rows.settle()
    if whole:
        sizes = evaluate_linked(folder, whole)
        interval = f" ({sizes.by_program})" if sizes.by_program else ""
        rows.evaluation.notes.append(f"linked, {sizes.programs} programs: size / -Oz {sizes.mean:.4f}{interval}")
    return rows.evaluation


def _digest(folder: Path, programs: Sequence[Program], *rest: Any) -> str:
    """Return a digest of all that episodes of an evaluation depend on."""
    files = [path for path in (toolchain.worker(), *sorted(folder.iterdir())) if path.is_file()]
    said = repr(([program.digest for program in programs], *rest))
    return sha256(b"".join(sha256(part).digest() for part in (*(file.read_bytes() for file in files), said.encode()))).hexdigest()


def _without_empty(bench: Bench, traces: Sequence[Trace]) -> tuple[list[Trace], list[str]]:
    """Leave programs without a function out of a bench. Return the traces of the others, and the names of those."""
    empty = empty_modules(program.bitcode for program, trace in zip(bench.programs, traces, strict=True) if not trace.steps)
    kept = [program.bitcode not in empty for program in bench.programs]
    left_out = [program.name for program, keep in zip(bench.programs, kept, strict=True) if not keep]
    if not any(kept):
        raise ProgramError(f"{', '.join(left_out)}: no function to compile, expected one in at least one program")
    bench.programs = list(compress(bench.programs, kept))
    return list(compress(traces, kept)), left_out


def _checked(made: type[CompilerEnv], environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that neither the policy nor the evaluation decides about."""
    settled = SETTLED | set(made.parameters) | set(made.record.evaluation)
    if taken := sorted(settled & set(environment)):
        raise TaskError(f"{made.task}: {', '.join(taken)}: settled by the policy and by the evaluation of its task, expected another argument")
    return dict(environment)


def _with_columns(made: type[CompilerEnv], programs: Sequence[Program], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with the metrics of the columns too, where the reward does not need them: stock compilers take no others."""
    if not made.record.columns:
        return arguments
    with closing(made(programs=programs, **arguments)) as env:
        missing = [name for pair in made.record.columns.values() for name in pair if name not in env.metrics]
    return arguments | {"metrics": (*arguments.get("metrics", ()), *missing)} if missing else arguments


def _player(policy: OnnxPolicy, env: CompilerEnv, record: TaskRecord) -> Decide:
    """Return the policy: in the compiler, where it takes models, unless its time is measured, step by step."""
    timed = "llvm_seconds" in record.evaluation.get("metrics", ())
    return policy.delegate if env.takes_models and not timed else policy.player(env)


def _check_decided_apart(policy: OnnxPolicy, record: TaskRecord) -> None:
    if not record.measured_candidates and not record.candidates(policy.manifest["parameters"]):
        raise TaskError(f"{policy.folder}: its decisions depend on each other, expected no argument candidates")


def _add_candidates(rows: TraceRows, bench: Bench, policy: OnnxPolicy, record: TaskRecord, counts: Sequence[int]) -> None:
    """Adds the best of as many candidates as each of the counts, as the task has them."""
    listed = record.candidates(policy.manifest["parameters"])
    if record.measured_candidates:
        _add_measured(rows, bench, _player(policy, bench.env(), record), list(map(record.measured_candidates, counts)), counts)
    elif record.ranked:
        _add_preferred(rows, bench, listed, counts, policy)
    elif record.separable:
        default = bench.env().default_action
        _add_best_answers(rows, bench, [nth_allowed(index, default) for index in range(len(listed))], counts, default)
    else:
        _add_best_episodes(rows, bench, listed, counts)


def _add_references(rows: TraceRows, bench: Bench, record: TaskRecord) -> None:
    """Adds the baseline and the policies that do not learn; with their guard, where that is function by function."""
    add = rows.add_guarded if record.guarded else rows.add
    if record.baseline not in record.reference_policies:
        rows.later(rows.add_baseline)
    for method, reference in record.reference_policies.items():
        traces = _run(bench, method, reference)
        if reference.alternative:
            rows.later(rows.add_alternative, method, traces, reference.alternative)
        elif method == record.baseline:
            rows.later(rows.add_baseline, traces)
        else:
            rows.later(add, method, traces)
    rows.later(_pair_with_best, rows, [method for method in record.reference_policies if method != record.baseline])
    if record.stock_ways:
        rows.later(_add_stock, rows, bench.programs, record)


def _pair_with_best(rows: TraceRows, methods: Sequence[str]) -> None:
    """Compare the policy with the best of these methods, program by program."""
    first, pairs = rows.evaluation.columns[0], rows.evaluation.pairs
    means = {method: found.mean for method in methods if (found := rows.evaluation.estimates(method)[first])}
    pair = (POLICY, min(means, key=means.__getitem__)) if means else None
    if pair and pair not in pairs:
        rows.evaluation.pairs = (*pairs, pair)


def _add_stock(rows: TraceRows, programs: Sequence[Program], record: TaskRecord) -> None:
    """Adds the ways to use stock LLVM; a note instead where its tools are missing."""
    try:
        stock = evaluate_stock(record.stock_ways, programs, list(record.columns))
    except ToolchainError as missing:
        rows.evaluation.notes.append(f"left out, for they need LLVM's tools: {'; '.join(record.stock_ways)} ({missing})")
        return
    for method, ratios in stock.items():
        rows.evaluation.add(method, ratios)


def _add_best(rows: TraceRows, bench: Bench, record: TaskRecord, counts: Sequence[int], seed: int) -> None:
    """Adds the best of the first policies of each portfolio, and of random episodes, for each of the counts."""
    most = max(counts, default=0)
    for name, portfolio in record.portfolios.items():
        tried = [_run(bench, f"{name} {i + 1}", reference) for i, reference in enumerate(portfolio[:most])]
        for count in (count for count in counts if count <= len(tried)):
            rows.later(rows.add, f"{name}, best of {count}", *tried[:count])
            if record.guardable:
                rows.later(rows.add, f"{name}, best of {count}, guarded", *tried[:count], bench.unchanged())
    drawn = [bench.play(partial(random_episode, seed=(seed, i)), f"random {i + 1}", **record.random) for i in range(most)]
    for count in counts:
        rows.later(rows.add, f"random, best of {count}", *drawn[:count])


def _add_measured(rows: TraceRows, bench: Bench, choose: Decide, found: Sequence[Alternative], counts: Sequence[int]) -> None:
    """Adds what the compiler itself makes of the policy's episodes by each number of candidates."""
    for count, alternative in zip(counts, found, strict=True):
        rows.later(rows.add_alternative, f"candidates: {count}", bench.run(choose, f"candidates {count}", **alternative.arguments), alternative)


def _add_best_answers(
    rows: TraceRows, bench: Bench, listed: Sequence[Choose], counts: Sequence[int], default: Default | None = None, label: str = "candidates"
) -> None:
    """Adds the best of the first answers to each decision, and of the heuristic's own, if that is given, decision by decision."""
    for count in counts:
        best = bench.play(partial(best_of_each, candidates=listed[:count], default=default), "candidates", dense=True)
        rows.later(rows.add, f"{label}: {count}", best, bench.unchanged())


def _add_preferred(rows: TraceRows, bench: Bench, listed: Sequence[int], counts: Sequence[int], policy: OnnxPolicy) -> None:
    """Adds the best of the answers that the policy prefers, and of as many in the order of the list, which learns nothing."""
    _add_best_answers(rows, bench, [nth_preferred(rank, policy.logits) for rank in range(len(listed))], counts)
    _add_best_answers(rows, bench, [nth_preferred(rank, _in_order) for rank in range(len(listed))], counts, label="candidates in the list's order")
    rows.evaluation.pairs = (*rows.evaluation.pairs, *((f"candidates: {count}", f"candidates in the list's order: {count}") for count in counts))


def _in_order(observation: Observation) -> np.ndarray:
    """Return logits that prefer the second action to the third, and so on, and the first one least: that is for decisions without another."""
    return -np.roll(np.arange(observation[MASK].size), 1).astype(float)


def _add_best_episodes(rows: TraceRows, bench: Bench, listed: Sequence[int], counts: Sequence[int]) -> None:
    """Adds the best of the episodes of one action each and of the compiler's own heuristic."""
    tried = [bench.play(partial(replay, actions=(action,)), f"candidate {action}") for action in listed[: max(counts, default=0)]]
    for count in counts:
        rows.later(rows.add, f"candidates: {count}", *tried[:count], bench.unchanged())


def _run(bench: Bench, label: str, reference: ReferencePolicy) -> list[Trace]:
    measured = reference.alternative.arguments if reference.alternative else {}
    return bench.run(reference.choose, label[:40], **reference.arguments, **measured)


def random_episode(program: Program, seed: tuple[int, int]) -> Script[Trace]:
    """Return a random episode that depends on the program and the seed alone."""
    return episode(program, random(rng_of(program, *seed)))


def _check_searched(env: CompilerEnv) -> None:
    if env.heuristic is None or not env.num_actions:
        raise TaskError(f"{env.task}: a search tries the other choices at every decision of a heuristic, which this task has not")
    counterfactual(env, improve=True)  # what it needs and is not installed is known before anything is played


def searched(env: CompilerEnv, program: Program) -> Trace:
    """Search a program and play the episode that was found. ``Trace.error`` has the reason where the search failed."""
    try:
        decisions = counterfactual(env, improve=True)(program)
    except NoDecisions:
        return Trace(program.name, (), (1.0,))
    except MlcbError as error:
        return Trace(program.name, (), (), str(error), lost=isinstance(error, SessionLost))
    last = decisions[-1]
    (trace,) = play_in_order([env], [replay(program, (*last.taken, int(last.outcomes.argmin())))])
    return trace
