# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixed sequences found on training programs: the best single one, and a coreset of those that suit many programs."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from mlcb_gym.corpus.programs import ProgramsLike, resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.fixed_sequences import FixedSequences
from mlcb_gym.errors import TaskError
from mlcb_gym.rollout.pool import EnvPool
from mlcb_gym.search.coreset import evaluate_sequences
from mlcb_gym.search.decisions import Decision, read_decisions
from mlcb_gym.search.declaration import Declaration


def candidates(decisions: Mapping[str, Sequence[Decision]], actions: Sequence[str], usual: Sequence[str], count: int) -> list[str]:
    """Return the usual sequences, and the one that a beam search found best for each program, those that gained most first, as texts."""
    found = sorted((program[0].best, best_sequence(program)) for program in decisions.values())
    texts = [" ; ".join(actions[a] for a in sequence) for _, sequence in found if sequence]
    return list(dict.fromkeys([*usual, *texts]))[:count]


def best_sequence(decisions: Sequence[Decision]) -> tuple[int, ...]:
    """Return the actions from the first decision to the smallest size known."""
    by_prefix = {decision.taken: decision for decision in decisions}
    taken: tuple[int, ...] = ()
    while (decision := by_prefix.get(taken)) is not None and decision.outcomes.min() < decision.ratio:
        taken = (*taken, int(decision.outcomes.argmin()))
    return taken


def find_fixed_sequences(
    task: str,
    decisions: Path,
    programs: ProgramsLike,
    *,
    environment: Mapping[str, Any] | None = None,
    count: int = 60,
    coreset: int = 25,
) -> FixedSequences:
    """Try the candidates on every program. The result is returned, not written: see ``FixedSequences.write``.

    Every ratio is written, as it comes, to ``decisions/baselines/<digest of the candidates' environment>.jsonl``, so that a second call goes on.

    Args:
        task: one whose actions are pipelines.
        decisions: the folder that ``search_all`` wrote (``mlcb search``), on the training programs.
        programs: the programs that candidates are tried on: the training programs, never those of an evaluation.
        environment: arguments of the environment that was searched.
        count: candidates tried, from the front.
        coreset: candidates kept.

    Raises:
        TaskError: the actions of the task are no pipelines.
        TrainingError: there are no decisions, or those of another environment.
    """
    made = env_class(task)
    if made.record.fixed_sequences is None:
        raise TaskError(f"{task}: its actions are no pipelines, of which sequences could be fixed")
    chosen = resolve(programs)
    with closing(EnvPool(made, programs=chosen, dense=False)) as pool:
        searched = pool.envs(**environment or {})[0]
        found = read_decisions(decisions, Declaration.of(searched))
        texts = candidates(found, searched.task_spec.parameters["actions"], made.record.usual_sequences, count)
        envs = pool.envs(**{**(environment or {}), **made.record.fixed_sequences(texts)})
        store = decisions / "baselines" / f"{Declaration.of(envs[0]).key}.jsonl"
        matrix = evaluate_sequences(envs, chosen, [(i,) for i in range(len(texts))], store)
    return FixedSequences(texts[matrix.best_fixed()], tuple(texts[i] for i in matrix.coreset(coreset)))
