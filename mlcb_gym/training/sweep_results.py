# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The outcomes of a sweep: a table, a picture, and the link ``best`` to the best checkpoint of all trials."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from mlcb_gym import json_lines
from mlcb_gym.damaged import reading
from mlcb_gym.errors import TrainingError
from mlcb_gym.picture import picture
from mlcb_gym.regular_file import read_regular
from mlcb_gym.training.checkpoints import RUN, link, read_run
from mlcb_gym.training.trial import RATIO

PICTURE = "sweep.png"
PARAMETERS, RESULTS, ERROR = "params.json", "result.json", "error.txt"
"""What Tune writes of a trial as text."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial.

    Args:
        values: the searched hyperparameters.
        curve: the updates, the environment steps and the ratio of each validation.
        kept: the ratio of the best checkpoint that is kept, and its folder; None where there is none.
        error: the last line of what ended it; empty where nothing did.
    """

    trial: str
    values: Mapping[str, Any]
    curve: Sequence[tuple[int, int, float]]
    kept: tuple[float, Path] | None
    error: str

    @property
    def best(self) -> float:
        """The lowest ratio of its validations; infinite where there is none."""
        return min((ratio for *_, ratio in self.curve), default=float("inf"))


def read_outcomes(folder: Path) -> list[Outcome]:
    """Return the outcomes of the sweep in a folder so far, the best first. Only text is read, for Tune's own state has pickles.

    Raises:
        TrainingError: what a trial told is damaged.
    """
    return sorted((_outcome(written.parent) for written in sorted(folder.glob(f"*/{PARAMETERS}"))), key=lambda outcome: outcome.best)


def _outcome(trial: Path) -> Outcome:
    with reading(trial / RESULTS, TrainingError, "trial", by="`mlcb sweep`"):
        told = {int(row["training_iteration"]): row for row in json_lines.read(trial / RESULTS)}  # some of a trial that went on are told again
        curve = [(int(row["updates"]), int(row["steps"]), float(row[RATIO])) for row in told.values()]
        name = next((str(row["trial_id"]) for row in told.values()), trial.name)
    return Outcome(trial=name, values=drawn(trial), curve=curve, kept=min(_kept(trial), default=None), error=_error(trial))


def _kept(trial: Path) -> Iterator[tuple[float, Path]]:
    """Yield the checkpoints of a trial that are kept, with the ratio of the validation that each was written after."""
    for written in sorted(trial.glob(f"*/{RUN}")):
        with reading(written, TrainingError, "run", by="`mlcb sweep`"):
            yield float(read_run(written.parent)["progress"]["curve"][-1][RATIO]), written.parent


def _error(trial: Path) -> str:
    """Return the last line of what ended a trial, which has told nothing since."""
    error, results = trial / ERROR, trial / RESULTS
    if not error.exists() or (results.exists() and results.stat().st_mtime > error.stat().st_mtime):
        return ""
    return (read_regular(error).decode().strip().splitlines() or [""])[-1]


def drawn(trial: Path) -> dict[str, Any]:
    """Return the hyperparameters of a trial without a validation, from its folder."""
    written = trial / PARAMETERS
    return dict(json.loads(read_regular(written))) if written.exists() else {}


def table(found: Sequence[Outcome]) -> Table:
    """Return a row for each trial."""
    names = list(found[0].values) if found else []
    made = Table("trial", *names, "validations", "updates", "steps", "best ratio", "last ratio", title="trials, the best first", title_justify="left")
    for outcome in found:
        updates, steps, last = outcome.curve[-1] if outcome.curve else (0, 0, None)
        shown = [_text(outcome.values.get(name, "")) for name in names]
        ratios = [outcome.error or "none yet", ""] if last is None else [f"{outcome.best:.4f}", f"{last:.4f}"]
        made.add_row(outcome.trial, *shown, str(len(outcome.curve)), str(updates), str(steps), *ratios)
    return made


def link_best(output: Path, found: Sequence[Outcome]) -> Path | None:
    """Link ``best`` in a sweep's folder to the best checkpoint, and return it; None where there is none."""
    checkpoints = [outcome.kept for outcome in found if outcome.kept]
    best = min(checkpoints)[1] if checkpoints else None
    if best is not None:
        link(output / "best", best)
    return best


def draw(path: Path, found: Sequence[Outcome]) -> None:
    """Draw the validations of all trials, and their hyperparameters as parallel coordinates, coloured by their best ratios."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    tried = [outcome for outcome in found if outcome.curve]
    if not tried:
        return
    norm = Normalize(tried[0].best, tried[-1].best)
    colours = [colormaps["viridis"](norm(outcome.best)) for outcome in tried]
    with picture(path, (10, 9), rows=2) as (figure, (curves, parallel)):
        for outcome, colour in zip(tried, colours, strict=True):
            curves.plot(*zip(*(point[1:] for point in outcome.curve), strict=True), color=colour, marker=".", linewidth=1)
        curves.set(title="validation", xlabel="environment steps", ylabel="ratio to LLVM's own heuristic")
        _draw_parallel(parallel, tried, colours)
        figure.colorbar(ScalarMappable(norm, "viridis"), ax=[curves, parallel], label="best ratio of the trial")


def _draw_parallel(axes: Any, tried: Sequence[Outcome], colours: Sequence[Any]) -> None:
    names = list(tried[0].values)
    columns = [_places([outcome.values[name] for outcome in tried]) for name in names] + [_places([outcome.best for outcome in tried])]
    for i, colour in enumerate(colours):
        axes.plot(range(len(columns)), [places[i] for places, _ in columns], color=colour, linewidth=1)
    for x, (_, marks) in enumerate(columns):
        axes.axvline(x, color="black", linewidth=0.6)
        for place, text in marks:
            axes.annotate(text, (x, place), textcoords="offset points", xytext=(4, 0), fontsize="small", va="center")
    axes.set(title="hyperparameters", yticks=[], ylim=(-0.05, 1.05), xlim=(-0.1, len(columns) - 0.7))
    axes.set_xticks(range(len(columns)), [*names, "best ratio"])


def _places(values: Sequence[Any]) -> tuple[list[float], list[tuple[float, str]]]:
    """Return the place of each value on an axis from 0 to 1, and the marks of that axis: its ends, or every choice. Numbers stand by their rank."""
    ordered = sorted(set(values), key=lambda value: (isinstance(value, str), value))
    place = {value: i / max(len(ordered) - 1, 1) for i, value in enumerate(ordered)}
    shown = ordered if len(ordered) <= 4 or isinstance(ordered[0], str) else [ordered[0], ordered[len(ordered) // 2], ordered[-1]]
    return [place[value] for value in values], [(place[value], _text(value)) for value in shown]


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
