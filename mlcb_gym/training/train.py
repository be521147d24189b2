# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training run: its algorithm begins or goes on, and the loop runs in a folder."""

import atexit
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import gymnasium
import ray
import torch
from gymnasium import spaces
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core import DEFAULT_MODULE_ID
from rich.console import Console

from mlcb_gym.agents.features import Features
from mlcb_gym.agents.graph import GraphNetwork
from mlcb_gym.errors import TrainingError
from mlcb_gym.rollout.network_policy import batch, by_agent
from mlcb_gym.rollout.random_policy import random_observations
from mlcb_gym.spec import AGENT, acting_agent
from mlcb_gym.training.checkpoints import ALGORITHM, Checkpoints, read_run, reading
from mlcb_gym.training.curves import Curves
from mlcb_gym.training.imitation.optimize import limit_threads
from mlcb_gym.training.loop import Budget, Loop, network_of
from mlcb_gym.training.progress import Display
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.registry import algorithms, recipe_class
from mlcb_gym.training.run import Run, current_commit
from mlcb_gym.training.training_env import Environment, register_for_rllib, training_env

__all__ = ["Budget", "check_output", "start_ray", "train"]


def train(
    environment: Environment,
    *,
    recipe: Recipe,
    validation: Sequence[Any],
    output: Path,
    budget: Budget,
    resume: bool = False,
    weights: Mapping[str, torch.Tensor] | None = None,
    console: Console | None = None,
) -> Path:
    """Train a policy and return its best checkpoint: the one with the lowest geometric mean of ratios over ``validation``.

    Args:
        environment: the environment; its ``programs`` are the training programs.
        validation: programs that ``environment.arguments["programs"]`` could also name, not learnt from; on ``resume``, those of the run.
        output: gets ``checkpoints/`` with the links ``last`` and ``best`` into it, and ``tensorboard/``.
        resume: go on from ``output``'s last checkpoint, with the recipe and environment stored there.
        weights: start from this state of the RLModule (see ``distill``), its feature statistics included; not read on ``resume``.

    Raises:
        KeyboardInterrupt: Ctrl-C, after the update under way; pressed again, at once. ``console`` has said what is saved.
        TrainingError: ``output`` holds a run already, none to ``resume`` or a damaged one, or another training writes to it; the weights are of
            another network; the reward gives no ratio.
    """
    console = console or Console()
    checkpoints = Checkpoints(output)
    check_output(output, resume=resume)
    with ExitStack() as stack:
        stack.enter_context(checkpoints.held())
        last = check_output(output, resume=resume)
        display = stack.enter_context(Display(console, "starting compilers and Ray"))
        stack.push(partial(_say_what_is_saved, console, output, environment))
        start_ray()
        algorithm, run = _build(environment, recipe, validation) if last is None else _resume(last, environment, validation)
        stack.callback(shutil.rmtree, algorithm.logdir, ignore_errors=True)
        stack.callback(algorithm.stop)
        if last is None:
            _set_weights(algorithm, _statistics(algorithm, recipe) if weights is None else _fitting(algorithm, recipe, weights))
        envs = stack.enter_context(closing(run.environment.of_programs.make(run.recipe.num_envs, programs=run.validation)))
        curves = stack.enter_context(Curves(output / "tensorboard", run.recipe, steps=run.progress.steps))
        Loop(algorithm, run, envs, checkpoints, budget, console, curves, display).go()
    best = checkpoints.path("best")
    assert best is not None
    return best


def check_output(output: Path, *, resume: bool) -> Path | None:
    """Return the last checkpoint in a folder; None where there is none.

    Raises:
        TrainingError: there is a run, but it is not to be resumed; or there is none to ``resume``.
    """
    last = Checkpoints(output).path("last")
    if last is None and resume:
        raise TrainingError(f"{output}: no run to resume, expected the link 'last' to a checkpoint")
    if last is not None and not resume:
        raise TrainingError(f"{output}: holds a run already, expected --resume to go on with it, or another folder")
    return last


def _say_what_is_saved(
    console: Console,
    output: Path,
    environment: Environment,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    """Print the last checkpoint of a run that Ctrl-C ended, and how to go on; for ``ExitStack.push``."""
    if kind is not KeyboardInterrupt:
        return
    last = Checkpoints(output).path("last")
    task = getattr(environment.env_class, "task", environment.id)
    said = f"interrupted before the first checkpoint: {output} holds no run"
    if last is not None:
        iteration = read_run(last)["progress"]["iteration"]
        said = f"interrupted: {output}/last holds update {iteration}; `mlcb train {task} --output {shlex.quote(str(output))} --resume` goes on"
    console.print(said, soft_wrap=True, highlight=False, markup=False)


def start_ray() -> None:
    """Start Ray with one process less: the runner and the learner live in this one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # RLlib registers every environment under this one id, and warns of doing so.
    gymnasium.registry.pop("rllib-single-agent-env-v0", None)
    limit_threads()
    if not ray.is_initialized():
        folder = tempfile.mkdtemp(prefix="mlcb-ray-")  # Ray leaves its session's folder behind
        atexit.register(_end_ray, folder)
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=128 << 20, _temp_dir=folder)
    register_for_rllib()


def _end_ray(folder: str) -> None:
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


def _build(environment: Environment, recipe: Recipe, validation: Sequence[Any]) -> tuple[Algorithm, Run]:
    _check_learns(recipe, environment)
    algorithm = recipe.config(environment).build_algo()
    env = training_env(algorithm).unwrapped
    names = [str(getattr(program, "uri", program)) for program in validation]
    return algorithm, Run(recipe, environment, env.envs[0].task_spec.declared, len(env.envs[0].programs), current_commit(), names)


def _check_ratio(environment: Environment, env: Any) -> None:
    """Raise TrainingError where the metrics of a reward give no ratio to the compiler's own heuristic, which policies are compared by."""
    reward = environment.arguments.get("reward", "of this environment")
    if env.objective is None:
        raise TrainingError(f"{environment.id}: reward {reward} measures nothing to compare policies by, expected another reward")
    if missing := sorted(set(env.objective) - set(env.metrics)):
        raise TrainingError(
            f"{environment.id}: policies are compared by {' / '.join(env.objective)}, and reward {reward} does not measure {', '.join(missing)}: "
            f"expected metrics={json.dumps(env.objective)} (--env 'metrics={json.dumps(env.objective)}'), or another reward"
        )


def _check_learns(recipe: Recipe, environment: Environment) -> None:
    """Raise TrainingError where the recipe does not learn the agents of the environment, or its reward."""
    with closing(environment.make(1)) as envs:
        _check_ratio(environment, envs.unwrapped.envs[0])
        asks_for_value = not isinstance(envs.single_action_space, spaces.Discrete)
        asks_several = AGENT in cast(spaces.Dict, envs.single_observation_space).spaces
    what = "for a value" if asks_for_value else "several agents" if asks_several else None
    if what and not recipe.learns_all:
        raise TrainingError(f"{environment.id}: asks {what}, which {recipe.algorithm} does not learn, expected algorithm {_those_that_learn_all()}")


def _those_that_learn_all() -> str:
    return " or ".join(name for name in algorithms() if recipe_class(name).learns_all)


def _statistics(algorithm: Algorithm, recipe: Recipe) -> dict[str, torch.Tensor]:
    """Return the buffers of the RLModule that standardise its inputs, from random episodes; none where nothing is standardised."""
    own = [_standardising(network) for network in by_agent(network_of(algorithm))]
    if not any(own):
        return {}
    envs = training_env(algorithm).unwrapped.envs
    seen = [acting_agent(o) for o in random_observations(envs, envs[0].programs, recipe.statistics_episodes, recipe.seed)]
    for agent in {agent for agent, _ in seen}:
        if each := own[agent]:
            each.standardise(batch([tensors for who, tensors in seen if who == agent]))
    return dict(algorithm.env_runner.module.named_buffers())


def _standardising(network: torch.nn.Module) -> Features | GraphNetwork | None:
    if isinstance(network, GraphNetwork):
        return network
    features = getattr(network, "features", None)
    return features if isinstance(features, Features) else None


def _fitting(algorithm: Algorithm, recipe: Recipe, weights: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
    """Return the weights, if they are all weights of the RLModule."""
    own = algorithm.env_runner.module.state_dict()
    unfit = [name for name, value in own.items() if name not in weights or weights[name].shape != value.shape]
    if unfit:
        given = next(iter(weights), "nothing")
        raise TrainingError(
            f"weights do not fit {recipe.algorithm}: {len(unfit)} of its {len(own)} tensors, {unfit[0]} first, are missing or of another shape; "
            f"expected the state of a module as {recipe.algorithm} has it, got {given} and so on"
        )
    return weights


def _set_weights(algorithm: Algorithm, weights: Mapping[str, torch.Tensor]) -> None:
    """Load a state of the RLModule into the learner, its target networks included, and the runner."""
    module = algorithm.learner_group._learner.module[DEFAULT_MODULE_ID].unwrapped()
    targets = {f"_target_{name}": value for name, value in weights.items()}
    own = module.state_dict()
    module.load_state_dict(own | {n: v for n, v in {**weights, **targets}.items() if n in own})
    algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=algorithm.learner_group)


def _resume(checkpoint: Path, environment: Environment, validation: Sequence[Any]) -> tuple[Algorithm, Run]:
    """Return the algorithm and the run of a checkpoint. ``validation`` is for runs of before, which do not hold it."""
    with reading(checkpoint, TrainingError):
        run = Run.from_json(read_run(checkpoint))
    if run.environment.id != environment.id:
        raise TrainingError(f"{checkpoint}: a run of {run.environment.id}, expected one of {environment.id}")
    run.validation = run.validation or list(validation)
    with reading(checkpoint, TrainingError):
        return Algorithm.from_checkpoint(str(checkpoint / ALGORITHM)), run
