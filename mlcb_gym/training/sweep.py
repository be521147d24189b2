# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sweeps over hyperparameters with Ray Tune: every trial is a training of its own, with its own compilers.

From Python::

    sweep = Sweep(environment=environment, recipe=recipe("ppo"), validation=names, space={"lr": "log(1e-5,1e-3)"}, trials=20)
    results = sweep.tuner(folder).fit()
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from ray import tune
from ray.tune import Callback, CheckpointConfig, FailureConfig, RunConfig, TuneConfig, Tuner

from mlcb_gym import atomic
from mlcb_gym.damaged import reading
from mlcb_gym.errors import TrainingError
from mlcb_gym.regular_file import read_regular
from mlcb_gym.training.loop import Budget
from mlcb_gym.training.ray_session import start_ray
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.run import recipe
from mlcb_gym.training.scheduling import SchedulerName, SearcherName, scheduler, searcher
from mlcb_gym.training.search_space import search_space
from mlcb_gym.training.training_env import Environment
from mlcb_gym.training.trial import RATIO, Trial

DECLARATION = "sweep.json"
MAX_FAILURES = 3
"""How often a trial whose process was killed goes on from its last checkpoint."""
KEPT = 4
"""The checkpoints of a trial that are kept: another one may be about to go on from the last but one."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep, as ``sweep.json`` in its folder holds it.

    Args:
        environment: the environment; its ``programs`` are the training programs.
        recipe: the hyperparameters that are not searched; its seed is the searcher's too.
        validation: the programs that trials are compared by, by their names.
        space: the domains of hyperparameters, as text (see ``search_space``).
        budget: of each trial; its seconds are those of the updates.
        trials: the number of trials.
        scheduler: ``asha`` ends trials that fall behind, ``pbt`` lets them go on from better ones with changed hyperparameters, ``none`` neither.
        searcher: ``random``, or ``optuna``, which learns from the trials that ended.

    Raises:
        TrainingError: there is no such scheduler or searcher, or the budget allows no update.
    """

    environment: Environment
    recipe: Recipe
    validation: Sequence[str]
    space: Mapping[str, str]
    budget: Budget = field(default_factory=lambda: Budget(iterations=100))
    trials: int = 20
    scheduler: SchedulerName = "asha"
    searcher: SearcherName = "random"

    def __post_init__(self) -> None:
        for what, value, known in (("scheduler", self.scheduler, SchedulerName), ("searcher", self.searcher, SearcherName)):
            if value not in get_args(known):
                raise TrainingError(f"{what} {value}: expected one of {', '.join(get_args(known))}")
        if self.budget.iterations < 1 or self.budget.seconds <= 0:
            raise TrainingError(f"iterations={self.budget.iterations}, seconds={self.budget.seconds:g}: expected time for one update or more")

    def check(self) -> None:
        """Try what ``tuner`` needs, before anything starts.

        Raises:
            TrainingError: the space does not fit the recipe or the scheduler, or the searcher is not installed.
        """
        self._search()

    def tuner(self, output: Path, *, callbacks: Sequence[Callback] = ()) -> Tuner:
        """Return the tuner of a new sweep; Ray is started where it does not run.

        Args:
            callbacks: Tune's, which can be pickled.

        Raises:
            TrainingError: the folder holds a sweep already, or as ``check``.
        """
        check_folder(output, resume=False)
        made = self._tuner(output, callbacks)
        atomic.write(output / DECLARATION, json.dumps(self.to_json(), indent=1))
        return made

    @classmethod
    def read(cls, output: Path) -> "Sweep":
        """Return the sweep in a folder.

        Raises:
            TrainingError: there is none, or it is damaged.
        """
        check_folder(output, resume=True)
        with reading(output / DECLARATION, TrainingError, "sweep", by="`mlcb sweep`"):
            saved = json.loads(read_regular(output / DECLARATION))
            return cls(
                environment=Environment(**saved["environment"]),
                recipe=recipe(saved["algorithm"], saved["recipe"]),
                budget=Budget(**saved["budget"]),
                **{name: saved[name] for name in ("validation", "space", "trials", "scheduler", "searcher")},
            )

    def resumed(self, output: Path, *, callbacks: Sequence[Callback] = ()) -> Tuner:
        """Return the tuner that goes on with the trials that have not ended, and begins those that failed anew.

        Args:
            callbacks: where the sweep ended before Tune had saved anything, so that it begins anew; else those that it was begun with hold.
        """
        if not self._is_saved(output):
            return self._tuner(output, callbacks)
        self._start_ray()
        return Tuner.restore(str(output.absolute()), self._trainable(output), resume_unfinished=True, restart_errored=True)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"algorithm": self.recipe.algorithm}

    def _search(self) -> tuple[dict[str, Any], TuneConfig]:
        """Return what is searched, and how."""
        space = search_space(self.recipe, self.space)
        how = TuneConfig(
            metric=RATIO,
            mode="min",
            num_samples=self.trials,
            scheduler=scheduler(self.scheduler, space, self.budget),
            search_alg=searcher(self.searcher, beside=self.scheduler, seed=self.recipe.seed),
        )
        return space, how

    def _tuner(self, output: Path, callbacks: Sequence[Callback]) -> Tuner:
        space, how = self._search()
        kept = CheckpointConfig(num_to_keep=KEPT, checkpoint_score_attribute=RATIO, checkpoint_score_order="min", checkpoint_frequency=1)
        where = RunConfig(
            name=output.absolute().name,
            storage_path=str(output.absolute().parent),
            checkpoint_config=kept,
            failure_config=FailureConfig(max_failures=MAX_FAILURES),
            callbacks=list(callbacks),
            verbose=0,
        )
        self._start_ray()
        output.mkdir(parents=True, exist_ok=True)
        return Tuner(self._trainable(output), param_space=space, tune_config=how, run_config=where)

    @staticmethod
    def _is_saved(output: Path) -> bool:
        """Whether Tune has saved the state of all trials, whole."""
        try:
            states = [json.loads(state.read_text()) for state in output.glob("experiment_state-*.json")]
        except ValueError:
            return False
        return Tuner.can_restore(str(output.absolute())) and any(state.get("trial_data") for state in states)

    def _start_ray(self) -> None:
        start_ray(self.recipe.processes, cpus=os.cpu_count())

    def _trainable(self, output: Path) -> Any:
        declared = {"environment": self.environment, "recipe": self.recipe, "validation": self.validation, "budget": self.budget}
        training = tune.with_parameters(Trial, **declared, sweep=output.absolute())
        bundles = [{"CPU": 1} for _ in range(self.recipe.processes)]
        return tune.with_resources(training, tune.PlacementGroupFactory(bundles))


def check_folder(output: Path, *, resume: bool) -> None:
    """Check that a folder holds a sweep, where it is to be resumed, and else none, and no run.

    Raises:
        TrainingError: it is otherwise.
    """
    if resume and not (output / DECLARATION).exists():
        raise TrainingError(f"{output}: no sweep to resume, expected a folder that `mlcb sweep` wrote")
    if not resume and ((output / DECLARATION).exists() or (output / "last").exists()):
        raise TrainingError(f"{output}: holds a sweep or a run already, expected --resume to go on with a sweep, or another folder")
