# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training loop: update, validate, save, until the iterations or the time are used up."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import gymnasium
import ray
import torch
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core import DEFAULT_MODULE_ID
from rich.console import Console

from mlcb_gym.agents.features import Features
from mlcb_gym.agents.graph import GraphNetwork
from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.errors import ProgramError, TrainingError
from mlcb_gym.rollout.network_policy import batch, by_agent
from mlcb_gym.rollout.play import Decide, episode, play_in_order
from mlcb_gym.rollout.random_policy import random_observations
from mlcb_gym.rollout.trace import Trace, geomean
from mlcb_gym.spec import AGENT, acting_agent
from mlcb_gym.training.checkpoints import ALGORITHM, Checkpoints, read_run, reading
from mlcb_gym.training.imitation.optimize import limit_threads
from mlcb_gym.training.profile import Shares, watch_model
from mlcb_gym.training.progress import Display
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.run import Progress, Run, current_commit
from mlcb_gym.training.training_env import Environment, register_for_rllib, training_env


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The limits of a run, and the interval of its validations.

    Args:
        iterations: updates in all, those of a resumed run included.
        seconds: wall time of this call; the run can be resumed afterwards.
        validate_every: iterations between two validations; each is a checkpoint too.
    """

    iterations: int
    seconds: float = float("inf")
    validate_every: int = 10


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
        validation: programs that ``environment.arguments["programs"]`` could also name, not learnt from.
        output: gets ``checkpoints/`` with the links ``last`` and ``best`` into it, and ``tensorboard/``.
        resume: go on from ``output``'s last checkpoint, with the recipe and environment stored there.
        weights: start from this state of the RLModule (see ``distill``), its feature statistics included; not read on ``resume``.

    Raises:
        TrainingError: ``output`` holds a run already, or none to ``resume`` or a damaged one, or another training writes to it; or the weights
            are of another network.
    """
    console = console or Console()
    checkpoints = Checkpoints(output)
    if resume and checkpoints.path("last") is None:
        raise TrainingError(f"{output}: no run to resume, expected the link 'last' to a checkpoint")
    with ExitStack() as stack:
        stack.enter_context(checkpoints.held())
        last = checkpoints.path("last")
        if last is not None and not resume:
            raise TrainingError(f"{output}: holds a run already, expected resume or another folder")
        start_ray()
        algorithm, run = _build(environment, recipe) if last is None else _resume(last)
        stack.callback(algorithm.stop)
        if last is None:
            _set_weights(algorithm, _statistics(algorithm, recipe) if weights is None else _fitting(algorithm, recipe, weights))
        envs = stack.enter_context(closing(run.environment.of_programs.make(run.recipe.num_envs, programs=validation)))
        _Loop(algorithm, run, envs, checkpoints, budget, console).go(output / "tensorboard")
    best = checkpoints.path("best")
    assert best is not None
    return best


def start_ray() -> None:
    """Start Ray with one process less: the runner and the learner live in this one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # RLlib registers every environment under this one id, and warns of doing so.
    gymnasium.registry.pop("rllib-single-agent-env-v0", None)
    limit_threads()
    if not ray.is_initialized():
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=128 << 20)
    register_for_rllib()


def network_of(algorithm: Algorithm) -> PolicyNetwork:
    """Return the network of the algorithm's environment runner."""
    network: PolicyNetwork = algorithm.env_runner.module.network
    return network


def _build(environment: Environment, recipe: Recipe) -> tuple[Algorithm, Run]:
    _check_learns(recipe, environment)
    algorithm = recipe.config(environment).build_algo()
    env = training_env(algorithm).unwrapped
    return algorithm, Run(recipe, environment, env.envs[0].task_spec.declared, len(env.envs[0].programs), current_commit())


def _check_learns(recipe: Recipe, environment: Environment) -> None:
    """Raise TrainingError where the recipe does not learn the agents of the environment."""
    with closing(environment.make(1)) as envs:
        asks_for_value = not isinstance(envs.single_action_space, spaces.Discrete)
        asks_several = AGENT in cast(spaces.Dict, envs.single_observation_space).spaces
    what = "for a value" if asks_for_value else "several agents" if asks_several else None
    if what and not recipe.learns_all:
        raise TrainingError(f"{environment.id}: asks {what}, which {recipe.algorithm} does not learn, expected algorithm es")


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


def _resume(checkpoint: Path) -> tuple[Algorithm, Run]:
    with reading(checkpoint, TrainingError):
        run = Run.from_json(read_run(checkpoint))
        return Algorithm.from_checkpoint(str(checkpoint / ALGORITHM)), run


class _Loop:
    """One call of ``train``."""

    def __init__(
        self,
        algorithm: Algorithm,
        run: Run,
        validation: VectorEnv[Any, Any, Any],
        checkpoints: Checkpoints,
        budget: Budget,
        console: Console,
    ) -> None:
        self.algorithm, self.run, self.checkpoints, self.budget, self.console = algorithm, run, checkpoints, budget, console
        self.validation = validation.unwrapped.envs
        self.env = training_env(algorithm)
        self.model = watch_model(algorithm)
        self.training_seconds = 0.0

    @cached_property
    def _player(self) -> Callable[[PolicyNetwork], Decide]:
        return self.run.recipe.player(network_of(self.algorithm), self.validation[0])

    @property
    def progress(self) -> Progress:
        return self.run.progress

    def go(self, tensorboard: Path) -> None:
        deadline = time.monotonic() + self.budget.seconds
        title = f"{self.run.spec['task']} {self.run.recipe.algorithm}"
        display = Display(tensorboard, title=title, iterations=self.budget.iterations, done=self.progress.iteration, console=self.console)
        with display:
            if self.progress.iteration == 0:
                self._validate({})
            while self.progress.iteration < self.budget.iterations and time.monotonic() < deadline:
                scalars = self._iterate()
                if self.progress.iteration % self.budget.validate_every == 0:
                    self._validate(scalars)
                display.advance(self.progress.steps, scalars, self._status(scalars))
            if self.progress.iteration % self.budget.validate_every != 0:
                self._validate({})
        self.console.print(Shares.of(training_seconds=self.training_seconds, env=self.env, model=self.model).table())

    def _iterate(self) -> dict[str, float]:
        """One update of the policy."""
        started = time.perf_counter()
        sampled = self.env.steps
        result = self.algorithm.train()
        seconds = time.perf_counter() - started
        self.training_seconds += seconds
        steps = self.env.steps - sampled
        self.progress.iteration += 1
        self.progress.steps += steps
        self.progress.seconds += seconds
        learner = result.get("learners", {}).get(DEFAULT_MODULE_ID, {})
        scalars = {f"learner/{name}": float(value) for name, value in learner.items() if _is_number(value)}
        return scalars | {
            "train/ratio": geomean(self.env.take_ratios() or [float("nan")]),
            "train/return": float(result.get("env_runners", {}).get("episode_return_mean", float("nan"))),
            "train/steps_per_second": steps / seconds,
            "train/errors": float(self.env.errors),
        }

    def _validate(self, scalars: dict[str, float]) -> None:
        """One greedy episode per validation program, and a checkpoint."""
        network = network_of(self.algorithm)
        network.eval()
        choose = self._player(network)
        traces = play_in_order(self.validation, (episode(program, choose) for program in self.validation[0].programs))
        network.train()
        scalars["validation/ratio"] = ratio = geomean([_scored(t) for t in traces])
        progress = self.progress
        progress.curve.append({"iteration": progress.iteration, "steps": progress.steps, "seconds": progress.seconds, "ratio": ratio})
        best = ratio < progress.best_ratio
        progress.best_ratio = min(ratio, progress.best_ratio)
        self.checkpoints.save(self.algorithm, self.run.to_json(), best=best)

    def _status(self, scalars: Mapping[str, float]) -> str:
        progress = self.progress
        return (
            f"ratio: train {scalars['train/ratio']:.4f} validation {progress.curve[-1]['ratio']:.4f} best {progress.best_ratio:.4f} "
            f"{scalars['train/steps_per_second']:.0f} steps/s"
        )


def _scored(trace: Trace) -> float:
    """Return the ratio of an episode; that of its start where the compiler failed. A program that cannot be begun is an error."""
    if not trace.ratios:
        raise ProgramError(f"{trace.program}: {trace.error}")
    return trace.scored


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or (hasattr(value, "ndim") and value.ndim == 0)
