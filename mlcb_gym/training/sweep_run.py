# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sweep from its beginning to the best checkpoint, with a line for each validation."""

import os
import time
from datetime import timedelta
from math import isfinite
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune import ResultGrid
from rich.console import Console

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.checkpoints import Checkpoints
from mlcb_gym.training.learnable import check_learns, find_programs
from mlcb_gym.training.progress import Display
from mlcb_gym.training.sweep import Sweep, check_folder
from mlcb_gym.training.sweep_results import PARAMETERS, PICTURE, Outcome, draw, link_best, read_outcomes, table
from mlcb_gym.training.trial import updates_of_running

LINE_SECONDS = 20.0
"""The interval of lines on the trials that run, where there is no terminal."""


def run_sweep(sweep: Sweep, output: Path, console: Console, *, resume: bool = False) -> Path | None:
    """Run a sweep, or go on with it; return its best checkpoint, or None after Ctrl-C.

    Raises:
        TrainingError: what is declared does not fit; the folder is in use, holds a sweep already, or none to resume; no trial came to a validation.
    """
    status = Status(sweep, output)
    check_folder(output, resume=resume)
    sweep.check()
    sweep.recipe.config(sweep.environment)
    find_programs(sweep.environment, sweep.validation)
    check_learns(sweep.recipe, sweep.environment)
    with Checkpoints(output).held():
        console.print(
            f"{sweep.environment.id} {sweep.recipe.algorithm}: {sweep.trials} trials, a line for each of their validations",
            highlight=False,
            soft_wrap=True,
        )
        lines = [Lines(sweep.trials)]
        tuner = sweep.resumed(output, callbacks=lines) if resume else sweep.tuner(output, callbacks=lines)
        os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")  # Tune's banner, printed whatever the verbosity
        with Display(console, "trials begin", seconds=LINE_SECONDS) as display:
            display.status = status
            results = tuner.fit()
    found = [*read_outcomes(output), *_not_begun(results)]
    console.print(table(found))
    best = link_best(output, found)
    draw(output / PICTURE, found)
    if _ended(results) < sweep.trials:
        return None
    if best is None:
        raise TrainingError(f"{output}: no trial came to a validation: {found[0].error or 'see its error.txt'}")
    return best


def _not_begun(results: ResultGrid) -> list[Outcome]:
    """Return the trials that have no folder yet."""
    trials = [(Path(result.path), result.config or {}) for result in results]
    return [Outcome(trial.name, values, [], None, "") for trial, values in trials if not (trial / PARAMETERS).exists()]


def _ended(results: ResultGrid) -> int:
    return sum(bool(result.error or (result.metrics or {}).get("done")) for result in results)


class Status:
    """The line of the display: how long the sweep has run, and how far its trials are."""

    def __init__(self, sweep: Sweep, output: Path) -> None:
        self._output, self._begun, self._waits_for = output, time.monotonic(), "trials"
        self._of = f" of {sweep.budget.iterations:g}" if isfinite(sweep.budget.iterations) else ""

    def __call__(self) -> str:
        elapsed, updates = timedelta(seconds=round(time.monotonic() - self._begun)), updates_of_running(self._output)
        if not updates:
            return f"{elapsed}: {self._waits_for} begin"
        self._waits_for = "the next trials"
        told = ", ".join(f"{count}{self._of}" for count in updates)
        return f"{elapsed}: {len(updates)} trials run, updates {told}"


class Lines(tune.Callback):
    """Prints a line for each validation of a trial, and where one ends without."""

    def __init__(self, trials: int) -> None:
        self._trials = trials

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        ended = sum(each.is_finished() for each in trials) + bool(result["done"])
        best = min(each.last_result.get("best_ratio", float("inf")) for each in trials)
        told = f"update {result['updates']}, ratio {result['ratio']:.4f}"
        print(f"trial {trial.trial_id}: {told}; {ended} of {self._trials} trials ended, best {min(best, result['best_ratio']):.4f}", flush=True)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        print(f"trial {trial.trial_id}: failed, see {trial.local_path}/error.txt", flush=True)
