# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One cell: train or search, then evaluate on both splits."""

import json
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from mlcb_gym import atomic
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs import env_class, environments
from mlcb_gym.envs.record import Observation
from mlcb_gym.evaluation.bench import Bench
from mlcb_gym.evaluation.module_metrics import evaluate_metrics
from mlcb_gym.evaluation.report import POLICY
from mlcb_gym.export.export import export_policy
from mlcb_gym.rollout.play import Choose, Script, episode
from mlcb_gym.rollout.pool import EnvPool
from mlcb_gym.rollout.random_policy import random as random_policy
from mlcb_gym.rollout.random_policy import rng_of
from mlcb_gym.rollout.trace import Trace
from mlcb_gym.search.decisions import read_decisions, search_all
from mlcb_gym.search.strategies import search_in
from mlcb_gym.spec import MASK, acting_agent
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.imitation.distill import warm_start
from mlcb_gym.training.imitation.optimize import limit_threads
from mlcb_gym.training.loop import Budget
from mlcb_gym.training.run import current_commit, recipe
from mlcb_gym.training.train import train
from mlcb_gym.training.training_env import Environment
from scripts.study.plan import ALGORITHMS, IMITATION, IMITATION_PPO, MINUTES, SEARCH, SPLITS, START, Cell

SEARCHED = {IMITATION: 0.8, IMITATION_PPO: 0.4}
"""The part of the minutes that is spent on outcomes to imitate."""

Ratios = dict[str, dict[str, float]]
"""By split and program."""


@dataclass
class Result:
    """The outcome of a cell.

    Args:
        ratios: of the method.
        references: of the policies that do not learn, where the cell played them.
        projects: the project of every program.
        compilations: programs that were compiled to the end in training or search, validations not included.
        searched: training programs that were searched.
        updates: of the policy.
        seconds: of training and search.
    """

    ratios: Ratios
    references: dict[str, Ratios] = field(default_factory=dict)
    projects: dict[str, str] = field(default_factory=dict)
    compilations: int = 0
    searched: int = 0
    updates: int = 0
    seconds: float = 0.0
    commit: str = ""

    def write(self, file: Path) -> None:
        atomic.write(file, json.dumps(asdict(self), separators=(",", ":")))

    @classmethod
    def read(cls, file: Path) -> "Result":
        return cls(**json.loads(file.read_text()))


def play(cell: Cell, folder: Path, *, minutes: float = MINUTES, compilations: int = 0, as_many_as: Result | None = None) -> Result:
    """Play a cell in an empty folder.

    Args:
        compilations: of the search of each program, for all programs together.
        as_many_as: has the number of programs that are searched and of updates, instead of as many as there is time for.
    """
    if cell.method == SEARCH:
        return _search_each(cell, compilations)
    started = time.monotonic()
    searched, first = Searched(), None
    environment = Environment(environments()[cell.task], cell.arguments | {"programs": [cell.programs("train")]})
    chosen = recipe(ALGORITHMS.get(cell.method, "ppo"), {"seed": cell.seed})
    if cell.method in SEARCHED:
        seconds = 60 * minutes * SEARCHED[cell.method]
        searched = _search(cell, folder / "decisions", seconds, as_many_as.searched if as_many_as else None)
        limit_threads()
        first = warm_start(environment, chosen, folder / "decisions")
    if cell.method in (START, IMITATION):
        budget = Budget(iterations=0)
    elif as_many_as:
        budget = Budget(iterations=as_many_as.updates)
    else:
        budget = Budget(seconds=60 * minutes - (time.monotonic() - started))
    best = train(environment, recipe=chosen, validation=[cell.programs("validation")], output=folder / "run", budget=budget, weights=first)
    seconds = time.monotonic() - started
    progress = read_run(folder / "run" / "last")["progress"]
    policy = export_policy(best, folder / "policy")
    made = searched.outcomes + progress["episodes"]
    result = Result({}, compilations=made, searched=searched.programs, updates=progress["iteration"], seconds=seconds, commit=current_commit())
    for split in SPLITS:
        whole = cell.method == START and cell.seed == 1
        evaluation = evaluate_metrics(policy, cell.programs(split), best_of=(1,) if whole else (), references=whole)
        (counted, *_) = evaluation.columns
        for method, values in evaluation.ratios[counted].items():
            to = result.ratios if method == POLICY else result.references.setdefault(method, {})
            to[split] = _known(evaluation.programs, values)
        result.projects |= dict(zip(evaluation.programs, evaluation.projects, strict=True))
    return result


def _known(programs: Sequence[str], ratios: Sequence[float | None]) -> dict[str, float]:
    return {program: round(ratio, 5) for program, ratio in zip(programs, ratios, strict=True) if ratio is not None}


@dataclass(frozen=True)
class Searched:
    """The number of programs that were searched, and of outcomes that were measured."""

    programs: int = 0
    outcomes: int = 0


def _search(cell: Cell, folder: Path, seconds: float, number: int | None) -> Searched:
    """Search training programs in a drawn order: so many of them, or until the time is over."""
    programs = list(resolve(cell.programs("train")))
    random.Random(cell.seed).shuffle(programs)
    ends, done = time.monotonic() + (seconds if number is None else float("inf")), 0
    with closing(env_class(cell.task)(programs=programs[:number], **cell.arguments)) as env:
        for _ in search_all(search_in(env), env.programs, folder):
            done += 1
            if time.monotonic() > ends:
                break
    found = read_decisions(folder).values()
    return Searched(done, sum(int(np.isfinite(decision.outcomes).sum()) for decisions in found for decision in decisions))


def _search_each(cell: Cell, compilations: int) -> Result:
    """Search the programs of both splits themselves, each by hill climbing with an equal part of the compilations."""
    started = time.monotonic()
    result = Result({}, commit=current_commit())
    chosen = {split: resolve(cell.programs(split)) for split in SPLITS}
    tries = max(1, compilations // sum(map(len, chosen.values())))
    made = env_class(cell.task)
    for split, programs in chosen.items():
        arguments: Mapping[str, Any] = {**cell.arguments, **made.record.evaluation, "programs": programs}
        with closing(Bench(EnvPool(made, **arguments), programs)) as bench:
            usual = bench.env().default_action if bench.env().heuristic is not None else None
            traces = bench.play(partial(climb, tries=tries, seed=cell.seed, usual=usual), split)
            bench.finish()
        result.ratios[split] = _known([p.name for p in programs], [trace.scored for trace in traces])
        result.projects |= {p.name: p.project for p in programs}
        result.compilations += tries * len(programs)
    result.seconds = time.monotonic() - started
    return result


def climb(program: Any, *, tries: int, seed: int, usual: Choose | None) -> Script[Trace]:
    """Play episodes of a program, each as the best one so far but for one decision that is drawn anew; return the best.

    Args:
        usual: the compiler's own heuristic, which the first episode follows; a random one where there is none.
    """
    rng = rng_of(program, seed)
    best = yield from episode(program, usual or random_policy(rng))
    for _ in range(tries - 1):
        trace = yield from episode(program, _changed(best.actions, rng, usual or random_policy(rng)))
        if trace.scored <= best.scored:
            best = trace
    return best


def _changed(actions: Sequence[Any], rng: np.random.Generator, usual: Choose) -> Choose:
    """Return the policy that takes given actions, but one that is drawn anew; where they are forbidden or used up, the usual one."""
    turns, drawn = count(), random_policy(rng)
    place = rng.integers(max(len(actions), 1))

    def choose(observation: Observation) -> Any:
        turn = next(turns)
        if turn == place:
            return drawn(observation)
        action = actions[turn] if turn < len(actions) else None
        return usual(observation) if action is None or not acting_agent(observation)[1][MASK][action] else action

    return choose
