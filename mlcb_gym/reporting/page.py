# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One self-contained HTML page about training runs, sweeps and evaluations."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from rich.table import Table

from mlcb_gym import __version__, atomic
from mlcb_gym.errors import TrainingError
from mlcb_gym.evaluation.report import EVALUATION, Evaluation
from mlcb_gym.reporting.charts import actions_taken, drawn, learning_curves, time_parts
from mlcb_gym.reporting.runs import Group, groups, holds_run, read_shown
from mlcb_gym.training.sweep import DECLARATION, Sweep
from mlcb_gym.training.sweep_results import draw, read_outcomes, table

TEMPLATE = files("mlcb_gym") / "data" / "report.html.jinja"


@dataclass(frozen=True)
class Rows:
    """A table as a page shows it."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    @classmethod
    def of(cls, table: Table) -> "Rows":
        """Return a table of the terminal."""
        columns = [[str(cell) for cell in column.cells] for column in table.columns]
        return cls([str(column.header) for column in table.columns], list(zip(*columns, strict=True)), str(table.caption or ""))


def write_report(folders: Sequence[Path], output: Path) -> None:
    """Write a page about folders of `mlcb train`, `mlcb sweep` and `mlcb evaluate`, in any order. One that is named twice is shown once.

    Raises:
        TrainingError: a folder holds none of these.
    """
    named: dict[Path, Path] = {}
    for folder in folders:
        named.setdefault(folder.resolve(), folder)
    sweeps = [folder for folder in named.values() if (folder / DECLARATION).exists()]
    evaluations = [folder for folder in named.values() if (folder / EVALUATION).exists()]
    together = groups(read_shown(folder) for folder in named.values() if holds_run(folder) or folder not in sweeps + evaluations)
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(TEMPLATE.read_text())
    text = page.render(
        version=__version__,
        curves=_picture(learning_curves(together)) if together else "",
        time=_picture(time_parts([group for group in together if group.seconds])) if any(group.seconds for group in together) else "",
        groups=[_group(group) for group in together],
        sweeps=[_sweep(folder) for folder in sweeps],
        evaluations=[_evaluation(folder) for folder in evaluations],
    )
    atomic.write(output, text)


def _group(group: Group) -> dict[str, Any]:
    rows = []
    for shown in group.runs:
        run, progress = shown.run, shown.run.progress
        row = [shown.folder, run.recipe.seed, progress.iteration, progress.steps, round(progress.seconds)]
        rows.append([*map(str, row), f"{progress.best_ratio:.4f}", f"{shown.last:.4f}"])
    headers = ["run", "seed", "updates", "steps", "seconds", "best validation", "last validation"]
    actions = [(str(shown.folder), _picture(actions_taken(*shown.actions))) for shown in group.runs if shown.actions[1].size]
    return {"title": group.title, "runs": Rows(headers, rows), "settings": group.settings, "actions": actions}


def _sweep(folder: Path) -> dict[str, Any]:
    sweep, found = Sweep.read(folder), read_outcomes(folder)
    if not found:
        raise TrainingError(f"{folder}: no trial has begun yet, expected a sweep with results")
    title = f"{sweep.environment.id}, {sweep.recipe.algorithm}: {sweep.trials} trials, {sweep.scheduler}, {sweep.searcher}"
    return {"folder": folder, "title": title, "picture": _picture(drawn(lambda path: draw(path, found))), "trials": Rows.of(table(found))}


def _evaluation(folder: Path) -> dict[str, Any]:
    evaluation = Evaluation.read(folder)
    column = evaluation.columns[0]
    ratios = {method: evaluation.programs_of(column, method) for method in evaluation.methods}
    rows = [
        [program, *("" if (ratio := ratios[method][i]) is None else f"{ratio:.4f}" for method in evaluation.methods)]
        for i, program in enumerate(evaluation.programs)
    ]
    return {
        "folder": folder,
        "title": f"{evaluation.policy}: {evaluation.title}",
        "picture": _picture(drawn(evaluation.plot)),
        "methods": Rows.of(evaluation.table()),
        "remark": evaluation.remark,
        "programs": Rows(["program", *evaluation.methods], rows, f"{column} / {evaluation.baseline}"),
    }


def _picture(svg: str) -> str:
    """Return an SVG as a URL, whose identifiers are then its own."""
    return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" if svg else ""
