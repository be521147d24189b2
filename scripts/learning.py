# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train tasks for five minutes with each seed, and compare the LAST checkpoints with the first weights on programs that chose nothing."""

import argparse
import json
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import cpu
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs import env_class, environments
from mlcb_gym.evaluation.module_metrics import evaluate_metrics
from mlcb_gym.evaluation.report import POLICY
from mlcb_gym.evaluation.statistics import Estimate
from mlcb_gym.export.export import export_policy
from mlcb_gym.rollout.trace import geomean
from mlcb_gym.training.run import current_commit, recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment
from scripts.study.page import of_all_seeds, over_programs
from scripts.study.plan import SEEDS, SUBJECTS

TASKS = ("posetrl", "inliner", "eviction")
SETTINGS = {"eviction": {"programs": 12, "lr": 0.1}}
"""Hyperparameters other than the defaults: evolution on fewer programs takes more steps in the time."""
MINUTES = 5.0
WORK = Path("build/learning")
NEVER = 1_000_000
"""The interval of validations: only the first and the last one."""

Ratios = Mapping[str, float]


@dataclass(frozen=True)
class Learnt:
    """The ratios of programs before and after a training with a seed."""

    before: Ratios
    after: Ratios
    projects: Mapping[str, str]


def judges(task: str) -> list[Program]:
    """Return the programs of every second validation project, which are used for no choice."""
    programs = resolve(f"{env_class(task).record.corpus}/validation")
    chosen = sorted({program.project for program in programs})[1::2]
    return [program for program in programs if program.project in chosen]


def learn(task: str, seed: int, minutes: float) -> Learnt:
    """Train a task, unless it has been done, and evaluate it before and after."""
    environment_class, programs = env_class(task), judges(task)
    arguments = dict(SUBJECTS[task].arguments) | {"programs": [f"{environment_class.record.corpus}/train"]}
    chosen = recipe(environment_class.record.recipe, {"seed": seed, **SETTINGS.get(task, {})})
    found: list[Ratios] = []
    projects: dict[str, str] = {}
    for name, budget in (("first", Budget(iterations=0)), ("trained", Budget(seconds=60 * minutes, validate_every=NEVER))):
        output = WORK / f"{task}-{seed}" / name
        done, made_from = output / "done", f"{minutes:g} minutes, commit {current_commit()}"
        if not done.exists() or done.read_text() != made_from:
            shutil.rmtree(output, ignore_errors=True)
            environment = Environment(environments()[task], arguments)
            train(environment, recipe=chosen, validation=programs[:1], output=output, budget=budget)
            done.write_text(made_from)
        policy = export_policy(output / "last", output / "policy")
        evaluation = evaluate_metrics(policy, programs, best_of=(), references=False)
        (counted, *_) = evaluation.columns
        ratios = zip(evaluation.programs, evaluation.ratios[counted][POLICY], strict=True)
        found.append({program: ratio for program, ratio in ratios if ratio is not None})
        projects |= dict(zip(evaluation.programs, evaluation.projects, strict=True))
    return Learnt(found[0], found[1], projects)


def gained(seeds: Sequence[Learnt]) -> Estimate:
    """Return the ratio of after to before; each program counts with the mean of its seeds."""
    gains = [{program: each.after[program] / before for program, before in each.before.items() if program in each.after} for each in seeds]
    return over_programs(of_all_seeds(gains), seeds[0].projects)


def row(task: str, seeds: Sequence[Learnt]) -> str:
    """Return a task's row of the table."""
    gain = gained(seeds)
    before, after = (_by_seed(ratios) for ratios in ([each.before for each in seeds], [each.after for each in seeds]))
    counted = f"{gain.programs} of {gain.projects}"
    return f"| {task} | {env_class(task).record.recipe} | {counted} | {before} | {after} | {gain.mean:.4f} | {gain.by_project} |"


def _by_seed(seeds: Sequence[Ratios]) -> str:
    return ", ".join(f"{geomean(list(ratios.values())):.4f}" for ratios in seeds)


def main() -> None:
    """Train, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/learning.md"), help="the page")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of each training")
    given = parser.parse_args()
    settings = "; ".join(f"{task}: {json.dumps(changed)}" for task, changed in SETTINGS.items())
    numbers = ", ".join(map(str, SEEDS))
    text = [
        "# Five minutes of learning",
        "",
        f"`python -m scripts.learning`: each task's own algorithm, {given.minutes:g} minutes on two cores, seeds {numbers}, on its training",
        f"programs, with the defaults ({settings}). The last checkpoint against the weights before the first",
        "update, on the programs of every second validation project, which were used for no choice: ratios to LLVM's own heuristic, lower is better.",
        "Intervals (95 %) are over whole projects.",
        f"{platform.machine()}, {cpu()}; commit {current_commit()}.",
        "",
        "| task | algorithm | programs of projects | before, by seed | after, by seed | after / before | interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for task in TASKS:
        text.append(row(task, [learn(task, seed, given.minutes) for seed in SEEDS]))
        print(text[-1], flush=True)
    given.output.write_text("\n".join([*text, ""]))


if __name__ == "__main__":
    main()
