# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of the study: a table for each task, and one plot of all."""

import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.report import cpu
from mlcb_gym.envs import env_class
from mlcb_gym.evaluation.statistics import Estimate, estimate
from mlcb_gym.picture import picture
from mlcb_gym.rollout.trace import geomean
from scripts.study.plan import MINUTES, SEARCH, SEEDS, SPLITS, START, SUBJECTS, Cell
from scripts.study.play import Result

RANDOM, FIXED = "random, best of 1", "best fixed answer"
PLOT = "study.png"
TOO_LARGE = 1.28
"""The largest ratio that the plot shows."""

Results = Mapping[Cell, Result]


@dataclass(frozen=True)
class Row:
    """A method on a task: all its seeds together.

    Args:
        ratios: of each program of the test split, the mean of its seeds.
        learns: whether it learns a policy, which then meets programs that it never saw.
    """

    method: str
    seeds: Sequence[float]
    estimates: Mapping[str, Estimate]
    compilations: str
    ratios: Mapping[str, float]
    learns: bool = False

    @classmethod
    def of(cls, method: str, results: Sequence[Result], *, learns: bool = False) -> "Row":
        """Return the row of a method that was played with some seeds: each program counts with the mean of its seeds."""
        by_split = {split: of_all_seeds([each.ratios[split] for each in results]) for split in SPLITS}
        estimates = {split: over_programs(ratios, results[0].projects) for split, ratios in by_split.items()}
        seeds = [geomean(list(each.ratios[SPLITS[-1]].values())) for each in results]
        mean = np.mean([each.compilations for each in results])
        return cls(method, seeds, estimates, f"{mean:.0f}" if mean else "", by_split[SPLITS[-1]], learns)


def projects_of(task: str, results: Results) -> Mapping[str, str]:
    """Return the project of every program of a task."""
    return {program: project for cell, result in results.items() if cell.task == task for program, project in result.projects.items()}


def of_all_seeds(seeds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean over the seeds, of each program that all of them have."""
    programs = [program for program in seeds[0] if all(program in seed for seed in seeds)]
    return {program: geomean([seed[program] for seed in seeds]) for program in programs}


def over_programs(ratios: Mapping[str, float], projects: Mapping[str, str]) -> Estimate:
    """Estimate the mean of ratios by program."""
    return estimate(list(ratios.values()), [projects[program] for program in ratios])


def rows(task: str, results: Results) -> Iterator[Row]:
    """Yield the rows of a task: what does not learn, then the methods that were played."""
    start = results.get(Cell(task, START, SEEDS[0]))
    if start is not None:
        nulls = {method: Row.of(method, [Result(ratios, projects=start.projects)]) for method, ratios in start.references.items()}
        others = env_class(task).record.stock_ways
        fixed = [row for method, row in nulls.items() if method not in (RANDOM, *others) and not method.endswith("guarded")]
        yield from (nulls[method] for method in (RANDOM, *others) if method in nulls)
        best = min(fixed, key=lambda row: row.estimates["validation"].mean)
        yield replace(best, method=f"{FIXED}: {best.method}")
    for method in (START, *SUBJECTS[task].methods):
        played = [result for seed in SEEDS if (result := results.get(Cell(task, method, seed))) is not None]
        if played:
            yield Row.of(method, played, learns=method not in (START, SEARCH))


def verdict(lines: Sequence[Row], projects: Mapping[str, str]) -> str:
    """Return what the rows of a task say on whether learning is worth it: the method that validation chooses, program by program beside the best
    policy that does not learn."""
    learnt, others = ([row for row in lines if row.learns is learns and row.method != SEARCH] for learns in (True, False))
    if not learnt or not others:
        return "not played yet."
    best, null = (min(those, key=lambda row: row.estimates["validation"].mean) for those in (learnt, others))
    paired = {program: ratio / null.ratios[program] for program, ratio in best.ratios.items() if program in null.ratios}
    found = over_programs(paired, projects)
    interval = found.by_project
    answer = "no difference can be told"
    if interval and not interval.low <= 1 <= interval.high:
        answer = "yes" if interval.high < 1 else "no"
    own, other = (row.estimates["test"].mean for row in (best, null))
    of_that = f"their ratio, program by program, is {found.mean:.4f} ({interval or 'one project'})"
    return f"{answer}. {best.method} has {own:.4f}, *{null.method}* {other:.4f}; {of_that}."


def _of_modules(task: str, lines: Sequence[Row]) -> list[Row]:
    """Return the rows without those that take a whole program, where policies see a module."""
    whole = {method for method, way in env_class(task).record.stock_ways.items() if way.of_programs}
    return [row for row in lines if row.method not in whole]


def write(folder: Path, results: Results) -> None:
    """Write the page and its plot."""
    tables = {task: list(rows(task, results)) for task in SUBJECTS}
    folder.mkdir(parents=True, exist_ok=True)
    plot(folder / PLOT, tables)
    played = sorted({cell.seed for cell in results})
    commits = Counter(result.commit for result in results.values())
    text = [
        "# Is learning worth it?",
        "",
        f"On test programs of {len(tables)} tasks, after {MINUTES:g} minutes on one core for each method and "
        f"seed{'s' * (len(played) > 1)} {', '.join(map(str, played))}:",
        "",
        *(f"- **{task}**: {verdict(_of_modules(task, lines), projects_of(task, results))}" for task, lines in tables.items()),
        "",
        "Ratios of loop_distribution are of LLVM's cost model, not of run time: there random choices gain, too.",
        "",
        "Validation chooses both: the method that learns, and the best policy that does not (random, fixed, or the untrained network). The policies",
        "that ship had more: [most learnt from searched decisions](../training.md#how-the-policies-that-ship-were-made).",
        "",
        "A ratio is that of the task's own metric to LLVM's heuristic, the geometric mean over programs; lower is better. A program counts with",
        "the mean of its seeds, and intervals (95 %) are over whole projects. The best checkpoint was chosen by validation, so test alone is a fair",
        "judge. Compilations are those of training and search, without validations. DQN cannot train the tasks of several agents, and search cannot",
        f"try numeric answers, as those of priority. *{SEARCH}* searches the programs of both splits directly, with as many",
        "compilations as PPO's first seed. *Internalised*: all functions but `main` are made private to the program. LSR (loop strength reduction)",
        "and machine LICM (loop-invariant code motion) are passes of LLVM's code generator.",
        "",
        f"![all tasks, test programs]({PLOT})",
        "",
    ]
    for task, lines in tables.items():
        text += [f"## {task}", "", *_table(task, lines), ""]
    text += [
        "## How it was measured",
        "",
        "`make study` plays every method with the defaults of `mlcb train`, one cell after another, and continues where it stopped. Cells that were",
        f"not played yet are left out. Seeds {', '.join(map(str, SEEDS))} are planned, {', '.join(map(str, played))} played.",
        f"{platform.machine()}, {cpu()}; commits",
        f"{', '.join(sorted(commits))}.",
        "",
    ]
    (folder / "README.md").write_text("\n".join(text))


def _table(task: str, lines: Sequence[Row]) -> list[str]:
    if not lines:
        return ["Not played yet."]
    table = [
        f"Ratios of {SUBJECTS[task].measured}.",
        "",
        "| method | validation | test | by project | seeds, test | compilations |",
        "|---|---|---|---|---|---|",
    ]
    for row in lines:
        validation, test = (row.estimates[split] for split in SPLITS)
        seeds = ", ".join(f"{seed:.4f}" for seed in row.seeds)
        table.append(f"| {row.method} | {validation.mean:.4f} | {test.mean:.4f} | {test.by_project or ''} | {seeds} | {row.compilations} |")
    return table


def _ends(row: Row) -> Sequence[float]:
    """Return what the plot shows of a row: its seeds, and the lower end of its interval."""
    interval = row.estimates["test"].by_project
    return [*row.seeds, *([interval.low] if interval else [])]


def plot(path: Path, tables: Mapping[str, Sequence[Row]]) -> None:
    """Draws a panel for each task: every method's mean over the test programs, and its interval."""
    heights = [max(len(lines), 1) for lines in tables.values()]
    least = min((low for lines in tables.values() for row in lines for low in _ends(row)), default=1.0)
    with picture(path, (9, 1.5 + 0.3 * sum(heights)), rows=len(tables), height_ratios=heights, sharex=True, squeeze=False) as (_, panels):
        for axes, (task, lines) in zip(panels[:, 0], tables.items(), strict=True):
            for place, row in enumerate(lines):
                found = row.estimates["test"]
                if found.by_project:
                    axes.plot([found.by_project.low, found.by_project.high], [place, place], color="tab:blue", linewidth=2)
                axes.plot(row.seeds, [place] * len(row.seeds), "|", color="black")
                axes.plot(found.mean, place, "o", color="tab:blue")
            axes.axvline(1.0, color="black", linewidth=0.8)
            axes.set_yticks(range(len(lines)), [f"{row.method} ({row.estimates['test'].mean:.4f})" for row in lines])
            axes.set_title(task, fontsize="medium", loc="left")
            axes.invert_yaxis()
            axes.grid(axis="x", linewidth=0.4)
        panels[-1, 0].set(xlabel="ratio to LLVM's heuristic, test programs", xlim=(min(0.9, least - 0.02), TOO_LARGE + 0.02))
