# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sweeps over hyperparameters with Ray Tune: every trial is a training of its own, with its own compilers.

From Python::

    tuner = Sweep(environment, recipe("ppo"), validation, {"lr": "log(1e-5,1e-3)"}, trials=20, budget=Budget(iterations=50)).tuner(folder)
    results = tuner.fit()
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil, isfinite
from pathlib import Path
from typing import Any, Literal, get_args

from ray import tune
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.tune import Callback, CheckpointConfig, FailureConfig, RunConfig, TuneConfig, Tuner
from ray.tune.schedulers import ASHAScheduler, PopulationBasedTraining, TrialScheduler
from ray.tune.search import BasicVariantGenerator
from ray.tune.search.sample import Categorical, Domain

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.checkpoints import ALGORITHM, MODULE, read_run
from mlcb_gym.training.first_weights import set_weights
from mlcb_gym.training.loop import Budget
from mlcb_gym.training.ray_session import start_ray
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.run import Progress, recipe
from mlcb_gym.training.search_space import search_space, with_values
from mlcb_gym.training.trainer import Trainer
from mlcb_gym.training.training_env import Environment

SchedulerName = Literal["asha", "pbt", "none"]
SearcherName = Literal["random", "optuna"]
RATIO = "ratio"
"""What trials are compared by: the ratio of the last validation, the lower the better."""
DECLARATION = "sweep.json"
MAX_FAILURES = 3
"""How often a trial whose process was killed goes on from its last checkpoint."""
FIXED_IN_A_RUN = ("network", "seed", "num_envs", "num_env_runners", "statistics_episodes")
"""Hyperparameters that a trial cannot take over from another one in the middle of its run."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep, as ``sweep.json`` in its folder holds it.

    Args:
        environment: the environment; its ``programs`` are the training programs.
        recipe: the hyperparameters that are not searched; its seed is the searcher's too.
        validation: the programs that trials are compared by, by their names.
        space: the domains of hyperparameters, as text (see ``search_space``).
        budget: of each trial.
        trials: the number of trials.
        scheduler: ``asha`` ends trials that fall behind, ``pbt`` lets them go on from better ones with changed hyperparameters, ``none`` neither.
        searcher: ``random``, or ``optuna``, which learns from the trials that ended.
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

    def tuner(self, output: Path, *, callbacks: Sequence[Callback] = ()) -> Tuner:
        """Return the tuner of a new sweep; Ray is started where it does not run.

        Args:
            callbacks: Tune's, which can be pickled.

        Raises:
            TrainingError: the folder holds a sweep already, or the space does not fit the recipe or the scheduler.
        """
        check_folder(output, resume=False)
        space = search_space(self.recipe, self.space)
        scheduler, searcher = self._scheduler(space), self._searcher()
        output.mkdir(parents=True, exist_ok=True)
        (output / DECLARATION).write_text(json.dumps(self.to_json(), indent=1))
        self._start_ray()
        return Tuner(
            self._trainable(),
            param_space=space,
            tune_config=TuneConfig(metric=RATIO, mode="min", num_samples=self.trials, scheduler=scheduler, search_alg=searcher),
            run_config=RunConfig(
                name=output.absolute().name,
                storage_path=str(output.absolute().parent),
                checkpoint_config=CheckpointConfig(
                    num_to_keep=1, checkpoint_score_attribute=RATIO, checkpoint_score_order="min", checkpoint_frequency=1
                ),
                failure_config=FailureConfig(max_failures=MAX_FAILURES),
                callbacks=list(callbacks),
                verbose=0,
            ),
        )

    @classmethod
    def resumed(cls, output: Path) -> tuple["Sweep", Tuner]:
        """Return the sweep in a folder, and its tuner, which goes on with the trials that have not ended and begins those that failed anew.

        Raises:
            TrainingError: there is none.
        """
        check_folder(output, resume=True)
        sweep = cls.from_json(json.loads((output / DECLARATION).read_text()))
        sweep._start_ray()
        return sweep, Tuner.restore(str(output.absolute()), sweep._trainable(), resume_unfinished=True, restart_errored=True)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"algorithm": self.recipe.algorithm}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> "Sweep":
        return cls(
            environment=Environment(**saved["environment"]),
            recipe=recipe(saved["algorithm"], saved["recipe"]),
            budget=Budget(**saved["budget"]),
            **{name: saved[name] for name in ("validation", "space", "trials", "scheduler", "searcher")},
        )

    @property
    def _cpus(self) -> int:
        """The processes of a trial."""
        return 1 + self.recipe.num_env_runners

    def _start_ray(self) -> None:
        start_ray(max(os.cpu_count() or 1, self._cpus))

    def _trainable(self) -> Any:
        bundles = [{"CPU": 1} for _ in range(self._cpus)]
        return tune.with_resources(tune.with_parameters(Trial, sweep=self), tune.PlacementGroupFactory(bundles))

    def _scheduler(self, space: Mapping[str, Domain]) -> TrialScheduler | None:
        budget, every = self.budget, self.budget.validate_every
        if self.scheduler == "asha":
            if isfinite(budget.iterations):
                return ASHAScheduler(max_t=ceil(budget.iterations / every))
            return ASHAScheduler(time_attr="time_total_s", max_t=budget.seconds, grace_period=budget.seconds / 8)
        if self.scheduler == "pbt":
            if fixed := [name for name in space if name.split(".")[0] in FIXED_IN_A_RUN]:
                raise TrainingError(f"{', '.join(fixed)}: cannot change during a run, which pbt does, expected --scheduler asha or none")
            return PopulationBasedTraining(
                time_attr="training_iteration", perturbation_interval=2, hyperparam_mutations={name: _mutation(space[name]) for name in space}
            )
        return None

    def _searcher(self) -> Any:
        if self.searcher == "random":
            return BasicVariantGenerator(random_state=self.recipe.seed)
        if self.scheduler == "pbt":
            raise TrainingError("searcher optuna: pbt changes hyperparameters itself, expected --searcher random")
        try:
            from ray.tune.search.optuna import OptunaSearch

            return OptunaSearch(metric=RATIO, mode="min", seed=self.recipe.seed)
        except (ImportError, AssertionError):
            raise TrainingError("searcher optuna: not installed, expected `pip install optuna`, or --searcher random") from None


def check_folder(output: Path, *, resume: bool) -> None:
    """Check that a folder holds a sweep, where it is to be resumed, and else none, and no run.

    Raises:
        TrainingError: it is otherwise.
    """
    if resume and not ((output / DECLARATION).exists() and Tuner.can_restore(str(output.absolute()))):
        raise TrainingError(f"{output}: no sweep to resume, expected a folder that `mlcb sweep` wrote")
    if not resume and ((output / DECLARATION).exists() or (output / "last").exists()):
        raise TrainingError(f"{output}: holds a sweep or a run already, expected --resume to go on with a sweep, or another folder")


class Trial(tune.Trainable):
    """The training of one trial: an iteration, as Tune counts, is the updates up to the next validation."""

    def setup(self, config: Mapping[str, Any], *, sweep: Sweep) -> None:
        start_ray()
        self.budget = sweep.budget
        self.ends = time.monotonic() + self.budget.seconds
        self.trainer = Trainer.begin(sweep.environment, with_values(sweep.recipe, config), sweep.validation)

    def step(self) -> dict[str, Any]:
        progress = self.trainer.progress
        due = min((progress.iteration // self.budget.validate_every + 1) * self.budget.validate_every, self.budget.iterations)
        scalars: Mapping[str, float] = {}
        while progress.iteration < due:
            scalars = self.trainer.update().scalars
            if time.monotonic() > self.ends:
                break
        self.trainer.validate()
        over = progress.iteration >= self.budget.iterations or time.monotonic() > self.ends
        told = {RATIO: progress.curve[-1]["ratio"], "best_ratio": progress.best_ratio, "updates": progress.iteration, "steps": progress.steps}
        return {**{name: value for name, value in scalars.items() if isfinite(value)}, **told, "done": over}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        self.trainer.save(Path(checkpoint_dir))

    def load_checkpoint(self, checkpoint_dir: Any) -> None:
        """Go on from this trial's checkpoint, or from the weights of another one's."""
        folder, trainer = Path(checkpoint_dir), self.trainer
        saved = read_run(folder)
        trainer.run.progress = Progress(**saved["progress"])
        if saved["recipe"] == json.loads(json.dumps(asdict(trainer.run.recipe))):
            trainer.algorithm.restore_from_path(str(folder / ALGORITHM))
        else:  # the state of the optimizer holds the learning rate of the other trial
            set_weights(trainer.algorithm, RLModule.from_checkpoint(str(folder / ALGORITHM / MODULE)).state_dict())

    def cleanup(self) -> None:
        self.trainer.close()


def _mutation(values: Domain) -> Any:
    """Return a domain as PBT takes it: it perturbs numbers, and goes to a neighbour in a list."""
    return values.categories if isinstance(values, Categorical) else values
