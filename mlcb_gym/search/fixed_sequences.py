# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What does not learn but looks at the training programs: the best fixed sequence, and a coreset of sequences that suit many programs."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from mlcb_gym.corpus.programs import ProgramsLike, resolve
from mlcb_gym.envs.posetrl import Actions, PosetRLEnv, read_actions
from mlcb_gym.rollout.play import PARALLEL
from mlcb_gym.search.coreset import evaluate_sequences
from mlcb_gym.search.decisions import Decision, read_decisions
from mlcb_gym.session import WorkerSession

PIPELINES = {
    "-Oz + iroutliner": "default<Oz> ; iroutliner",
    "default<Os>, minsize kept": "default<Os>",
    "default<O2>, minsize kept": "default<O2>",
}
"""Fixed sequences that anybody would try. They are no -Os and no -O2: every function carries ``minsize``, as for -Oz, and keeps it."""

CLANG = {
    "clang -Os": "{force-remove-attribute=minsize} forceattrs ; default<Os>",
    "clang -O2": "{force-remove-attribute=minsize,force-remove-attribute=optsize} forceattrs ; default<O2>",
}
"""What clang itself makes at its other levels, whose functions carry other attributes. Nothing that a policy for -Oz may choose."""


@dataclass(frozen=True)
class Baselines:
    """Fixed sequences as action texts: the best single one, and a coreset in greedy order."""

    best_fixed: str
    coreset: tuple[str, ...]

    @classmethod
    def shipped(cls, task: str) -> "Baselines":
        saved = json.loads(files("mlcb_gym").joinpath(f"data/baselines/{task}.json").read_text())
        return cls(saved["best_fixed"], tuple(saved["coreset"]))

    def write(self, path: Path) -> None:
        """Writes what ``shipped`` reads, as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def candidates(decisions: Mapping[str, Sequence[Decision]], actions: Sequence[str], count: int) -> list[str]:
    """The sequences that a look-ahead found best for a program each, as texts, those that gained most first; and what anybody would try."""
    found = sorted((program[0].best, best_sequence(program)) for program in decisions.values())
    texts = [" ; ".join(actions[a] for a in sequence) for _, sequence in found if sequence]
    return list(dict.fromkeys(["default<Oz>", *PIPELINES.values(), "default<Oz> ; iroutliner ; default<Oz>", *texts]))[:count]


def best_sequence(decisions: Sequence[Decision]) -> tuple[int, ...]:
    """The way from the first decision to the smallest size known."""
    by_prefix = {decision.taken: decision for decision in decisions}
    taken: tuple[int, ...] = ()
    while (decision := by_prefix.get(taken)) is not None and decision.outcomes.min() < decision.ratio:
        taken = (*taken, int(decision.outcomes.argmin()))
    return taken


def find_baselines(decisions: Path, programs: ProgramsLike, *, actions: Actions = "default", count: int = 60, coreset: int = 25) -> Baselines:
    """Tries the candidates on every program. The result is returned, not written: see ``Baselines.write``.

    Every ratio is written, as it comes, to ``decisions/baselines/<digest of the candidates>.jsonl``, so that a second call goes on.

    Args:
        decisions: the folder that ``search_all`` wrote (``mlcb search``), on the training programs.
        programs: what the candidates are tried on: the training programs, never those of an evaluation.
        actions: those that the decisions are of.
        count: how many candidates are tried, from the front.
        coreset: how many of them are kept.
    """
    texts = candidates(read_decisions(decisions), read_actions(actions), count)
    store = decisions / "baselines" / f"{sha256(json.dumps(texts).encode()).hexdigest()[:16]}.jsonl"
    chosen = resolve(programs)
    with closing(WorkerSession()) as session:
        envs = [PosetRLEnv(programs=chosen, actions=[*texts, "stop"], max_steps=1, dense=False, session=session) for _ in range(PARALLEL)]
        matrix = evaluate_sequences(envs, chosen, [(i,) for i in range(len(texts))], store)
    return Baselines(texts[matrix.best_fixed()], tuple(texts[i] for i in matrix.coreset(coreset)))
