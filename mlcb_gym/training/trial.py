# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A trial of a sweep: a training that Ray Tune steps from one validation to the next."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any

from ray import tune

from mlcb_gym import atomic
from mlcb_gym.training.checkpoints import ALGORITHM, read_run
from mlcb_gym.training.loop import Budget
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.run import Progress
from mlcb_gym.training.search_space import with_values
from mlcb_gym.training.trainer import Trainer
from mlcb_gym.training.training_env import Environment

RATIO = "ratio"
"""What trials are compared by: the ratio of the last validation, the lower the better."""
UPDATES = "updates"
"""The file in the folder of a trial that holds its updates so far, while it runs."""


class Trial(tune.Trainable):
    """The training of one trial: an iteration, as Tune counts, is the updates up to the next validation."""

    def setup(
        self, config: Mapping[str, Any], *, environment: Environment, recipe: Recipe, validation: Sequence[str], budget: Budget, sweep: Path
    ) -> None:
        self.budget = budget
        self.trainer = Trainer.begin(environment, with_values(recipe, config), validation)
        self._updates = sweep / Path(self.logdir).name / UPDATES
        self._tell()

    def step(self) -> dict[str, Any]:
        progress, every = self.trainer.progress, self.budget.validate_every
        due = min((progress.iteration // every + 1) * every, self.budget.iterations)
        scalars: Mapping[str, float] = {}
        while progress.iteration < due and progress.seconds < self.budget.seconds:
            scalars = self.trainer.update().scalars
            self._tell()
        self.trainer.validate()
        told = {RATIO: progress.curve[-1]["ratio"], "best_ratio": progress.best_ratio, "updates": progress.iteration, "steps": progress.steps}
        over = progress.iteration >= self.budget.iterations or progress.seconds >= self.budget.seconds
        return {**{name: value for name, value in scalars.items() if isfinite(value)}, **told, "seconds": progress.seconds, "done": over}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        self.trainer.save(Path(checkpoint_dir))

    def load_checkpoint(self, checkpoint_dir: Any) -> None:
        """Go on from a checkpoint of this trial, or of another one with other hyperparameters: this one's then hold."""
        folder, algorithm = Path(checkpoint_dir), self.trainer.algorithm
        self.trainer.run.progress = Progress(**read_run(folder)["progress"])
        algorithm.restore_from_path(str(folder / ALGORITHM))
        learner = algorithm.learner_group._learner
        for optimizer, schedule in learner._optimizer_lr_schedules.items():  # the state of an optimizer holds its learning rate
            learner._set_optimizer_lr(optimizer, lr=schedule.get_current_value())

    def cleanup(self) -> None:
        self._updates.unlink(missing_ok=True)
        self.trainer.close()

    def _tell(self) -> None:
        atomic.write(self._updates, str(self.trainer.progress.iteration))


def updates_of_running(sweep: Path) -> list[int]:
    """Return the updates so far of each trial that runs, in the folder of their sweep."""
    found = []
    for told in sweep.glob(f"*/{UPDATES}"):
        with suppress(FileNotFoundError):  # it has just ended
            found.append(int(told.read_text()))
    return sorted(found)
