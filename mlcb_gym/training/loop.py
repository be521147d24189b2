# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training loop: update, validate, save, until the iterations or the time are used up."""

import time
from dataclasses import dataclass
from math import isfinite

from rich.console import Console

from mlcb_gym.training.checkpoints import Checkpoints
from mlcb_gym.training.curves import VALIDATION, Curves
from mlcb_gym.training.interruption import Interruption
from mlcb_gym.training.progress import Display, status_line
from mlcb_gym.training.run import Progress
from mlcb_gym.training.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The limits of a run, and the interval of its validations.

    Args:
        iterations: updates in all, those of a resumed run included; as many as there is time for by default.
        seconds: wall time of this call; the run can be resumed afterwards.
        validate_every: iterations between two validations; each is a checkpoint too.
    """

    iterations: float = float("inf")
    seconds: float = float("inf")
    validate_every: int = 10


class Loop:
    """The updates, validations and checkpoints of one call of ``train``."""

    def __init__(self, trainer: Trainer, checkpoints: Checkpoints, budget: Budget, console: Console, curves: Curves, display: Display) -> None:
        self.trainer, self.checkpoints, self.budget, self.console, self.curves, self.display = trainer, checkpoints, budget, console, curves, display
        self._doing = ""
        self._ratio: float | None = None
        self._first_iteration, self._first_steps = trainer.progress.iteration, trainer.steps

    @property
    def progress(self) -> Progress:
        return self.trainer.progress

    def go(self) -> None:
        """Update the policy until the budget is used up, or Ctrl-C.

        Raises:
            KeyboardInterrupt: Ctrl-C; the run is saved as it is then.
        """
        self._started = self._begun = self._updated = time.monotonic()
        run, every = self.trainer.run, self.budget.validate_every
        judges, ratio = len(self.trainer.validation_programs), " / ".join(self.trainer.compared_by)
        self._say(f"{run.spec['task']} {run.recipe.algorithm}: {run.programs} programs, {judges} to validate by {ratio}, seed {run.recipe.seed}")
        self.display.status = self._status
        with Interruption(lambda: self._say("Ctrl-C: stopping after this update; Ctrl-C again stops at once")) as interruption:
            if self.progress.iteration == 0:
                self._validate()
            self._begun = self._updated = time.monotonic()
            validated = True
            while not interruption.asked and not self._is_spent():
                self._update()
                validated = self.progress.iteration % every == 0
                if validated:
                    self._validate()
            if not validated and interruption.asked:
                self.checkpoints.save(self.trainer.save, self.progress.iteration, best=False)
            elif not validated:
                self._validate()
            if interruption.asked:
                raise KeyboardInterrupt
        if shares := self.trainer.shares:
            self.console.print(shares.table())

    def _is_spent(self) -> bool:
        """Whether the budget is used up."""
        return self.progress.iteration >= self.budget.iterations or time.monotonic() - self._started >= self.budget.seconds

    def _left(self) -> float | None:
        """Return the seconds to the end of the budget, at the pace of the updates until now; None where that is not known."""
        now, updates = time.monotonic(), self.progress.iteration - self._first_iteration
        left = self.budget.seconds - (now - self._started)
        if isfinite(self.budget.iterations):
            if not updates:
                return None
            pace = (self._updated - self._begun) / updates
            left = min(left, (self.budget.iterations - self.progress.iteration) * pace - (now - self._updated))
        return max(left, 0.0) if isfinite(left) else None

    def _update(self) -> None:
        """Update the policy, and draw the curves."""
        update = self.trainer.update()
        self._updated = time.monotonic()
        self._ratio = update.ratio
        self.curves.add(self.progress.steps, update.scalars)
        self.curves.add_actions(self.progress.steps, update.actions, self.trainer.num_actions)

    def _validate(self) -> None:
        """Validate, and save a checkpoint."""
        self._doing = "validation"
        best, progress = self.trainer.validate(), self.progress
        ratio = progress.curve[-1]["ratio"]
        self.curves.add(progress.steps, {VALIDATION: ratio})
        self.checkpoints.save(self.trainer.save, progress.iteration, best=best)
        self._say(f"validation after update {progress.iteration}: ratio {ratio:.4f}{', the best' if best else f', best {progress.best_ratio:.4f}'}")
        self._doing = ""

    def _status(self) -> str:
        """Return the line of the display."""
        elapsed = time.monotonic() - self._started
        return status_line(
            iteration=self.progress.iteration,
            rate=(self.trainer.steps - self._first_steps) / elapsed if elapsed > 1 else None,
            ratio=self._ratio,
            best=self.progress.best_ratio,
            left=self._left(),
            done=self._doing,
        )

    def _say(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)
