# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which trials of a sweep go on, and which values they try: Ray Tune's schedulers and searchers."""

from collections.abc import Callable, Mapping
from math import ceil, isfinite
from typing import Any, Literal

from ray.tune.schedulers import ASHAScheduler, PopulationBasedTraining, TrialScheduler
from ray.tune.search import BasicVariantGenerator
from ray.tune.search.sample import Categorical, Domain, Integer

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.loop import Budget
from mlcb_gym.training.trial import RATIO

SchedulerName = Literal["asha", "pbt", "none"]
SearcherName = Literal["random", "optuna"]
FIXED_IN_A_RUN = ("network", "seed", "num_envs", "num_env_runners", "statistics_episodes")
"""Hyperparameters that a trial cannot take over from another one in the middle of its run."""


def is_fixed(name: str) -> bool:
    """Whether a hyperparameter cannot change during a run."""
    return name.split(".")[0] in FIXED_IN_A_RUN


def scheduler(name: SchedulerName, space: Mapping[str, Domain], budget: Budget) -> TrialScheduler | None:
    """Return Tune's scheduler.

    Raises:
        TrainingError: hyperparameters of the space cannot change during a run, and the scheduler changes them.
    """
    if name == "asha" and isfinite(budget.iterations):
        return ASHAScheduler(max_t=ceil(budget.iterations / budget.validate_every))
    if name == "asha":
        return ASHAScheduler(time_attr="seconds", max_t=budget.seconds, grace_period=budget.seconds / 8)
    if name == "none":
        return None
    if fixed := [each for each in space if is_fixed(each)]:
        raise TrainingError(f"{', '.join(fixed)}: cannot change during a run, which pbt does, expected --scheduler asha or none")
    mutations = {each: values.categories if isinstance(values, Categorical) else values for each, values in space.items()}
    return PopulationBasedTraining(
        time_attr="training_iteration", perturbation_interval=2, hyperparam_mutations=mutations, custom_explore_fn=_within(space)
    )


def _within(space: Mapping[str, Domain]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that keeps values in their domains, which PBT multiplies by 0.8 or 1.2."""

    def bounded(config: dict[str, Any]) -> dict[str, Any]:
        for name, values in space.items():
            if not isinstance(values, Categorical):
                last = values.upper - 1 if isinstance(values, Integer) else values.upper
                config[name] = min(max(config[name], values.lower), last)
        return config

    return bounded


def searcher(name: SearcherName, *, beside: SchedulerName, seed: int) -> Any:
    """Return Tune's searcher.

    Raises:
        TrainingError: it is not installed, or does not go with the scheduler ``beside`` it.
    """
    if name == "random":
        return BasicVariantGenerator(random_state=seed)
    if beside == "pbt":
        raise TrainingError("searcher optuna: pbt changes hyperparameters itself, expected --searcher random")
    try:
        from ray.tune.search.optuna import OptunaSearch

        return OptunaSearch(metric=RATIO, mode="min", seed=seed)
    except (ImportError, AssertionError):
        raise TrainingError("searcher optuna: not installed, expected `pip install optuna`, or --searcher random") from None
