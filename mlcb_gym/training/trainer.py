# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy under training: its algorithm and run, updated, validated and saved one step at a time."""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core import DEFAULT_MODULE_ID

from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.envs.module_measure import empty_modules
from mlcb_gym.errors import ProgramError, TrainingError
from mlcb_gym.rollout.play import Decide, episode, persistent, play_in_order
from mlcb_gym.rollout.trace import Trace, geomean
from mlcb_gym.training.checkpoints import ALGORITHM, reading, run_of, write_checkpoint
from mlcb_gym.training.curves import SECONDS
from mlcb_gym.training.first_weights import fitting, network_of, set_weights, statistics
from mlcb_gym.training.learnable import check_learns
from mlcb_gym.training.profile import Shares, watch_model
from mlcb_gym.training.provenance import provenance
from mlcb_gym.training.ray_session import start_ray
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.run import Progress, Run, current_commit
from mlcb_gym.training.training_env import Environment, Sampled, TrainingEnv, training_env

Weights = Mapping[str, torch.Tensor]
SILENT_SECONDS = 300.0
RETRY_SECONDS = 0.2


@dataclass(frozen=True)
class Update:
    """An update of the policy, as curves show it: scalars by name, the geometric mean of the ratios of ended episodes, and the actions taken."""

    scalars: Mapping[str, float]
    ratio: float | None
    actions: np.ndarray


class Trainer:
    """An RLlib algorithm, its run, and the environments that it is validated on, until ``close``."""

    def __init__(self, algorithm: Algorithm, run: Run) -> None:
        self.algorithm, self.run = algorithm, run
        self.env = training_env(algorithm)
        if algorithm.local_replay_buffer is not None:
            algorithm.local_replay_buffer.rng = np.random.default_rng(run.recipe.seed)  # RLlib seeds all else
        self._model = watch_model(algorithm)
        self._seconds, self._errors = 0.0, 0
        with ExitStack() as stack:
            stack.callback(_remove_results, Path(algorithm.logdir))
            stack.callback(algorithm.stop)
            validation = run.environment.of_programs.make(run.recipe.num_envs, programs=run.validation)
            stack.callback(validation.close)
            self._validation = validation.unwrapped.envs
            if not run.provenance:
                run.provenance = provenance(self.env.unwrapped.envs[0].programs, self.validation_programs, run.recipe.files)
            self._ended = stack.pop_all()

    @classmethod
    def begin(
        cls,
        environment: Environment,
        recipe: Recipe,
        validation: Sequence[Any],
        weights: Weights | None = None,
        begun_with: Mapping[str, Any] | None = None,
    ) -> Self:
        """Begin a run; by default its features are standardised by random episodes.

        Args:
            begun_with: see ``Run.begun_with``.

        Raises:
            TrainingError: the recipe does not learn the environment, or ``weights`` are of another network.
        """
        config = recipe.config(environment)
        check_learns(recipe, environment)
        start_ray(recipe.processes)
        algorithm = config.build_algo()
        env = training_env(algorithm).unwrapped.envs[0]
        names = [str(getattr(program, "uri", program)) for program in validation]
        run = Run(recipe, environment, env.task_spec.declared, len(env.programs), current_commit(), names, begun_with=begun_with or {})
        trainer = cls(algorithm, run)
        try:
            set_weights(algorithm, statistics(algorithm, recipe) if weights is None else fitting(algorithm, recipe, weights))
        except BaseException:
            trainer.close()
            raise
        return trainer

    @classmethod
    def resume(cls, checkpoint: Path, environment: Environment) -> Self:
        """Go on from a checkpoint.

        Raises:
            TrainingError: the checkpoint is damaged, or of another environment.
        """
        run = run_of(checkpoint)
        if run.environment.id != environment.id:
            raise TrainingError(f"{checkpoint}: a run of {run.environment.id}, expected one of {environment.id}")
        run.progress.resumed += 1
        start_ray(run.recipe.processes)
        with reading(checkpoint, TrainingError):
            algorithm = Algorithm.from_checkpoint(str(checkpoint / ALGORITHM))
        return cls(algorithm, run)

    @property
    def progress(self) -> Progress:
        return self.run.progress

    @property
    def validation_programs(self) -> Sequence[Any]:
        """The programs of the validation."""
        programs: Sequence[Any] = self._validation[0].programs
        return programs

    @property
    def compared_by(self) -> tuple[str, str]:
        """The metric and its baseline whose ratio the validations compare."""
        pair: tuple[str, str] = self._validation[0].objective
        return pair

    @property
    def num_actions(self) -> int:
        """The number of actions; 0 where the agent gives a value."""
        number: int = self._validation[0].num_actions
        return number

    @property
    def steps(self) -> int:
        """The environment steps of the run, those of the update under way included where this process samples."""
        return self.progress.steps + self.env.sampled.steps

    @property
    def shares(self) -> Shares | None:
        """The wall time of the updates so far, by part; None where other processes sample."""
        return None if self.run.recipe.num_env_runners else Shares.of(training_seconds=self._seconds, env=self.env, model=self._model)

    def update(self) -> Update:
        """Update the policy once; for as long as processes that sample start, or start anew, there is nothing to learn from.

        Raises:
            TrainingError: none has sampled anything for ``SILENT_SECONDS``.
        """
        started, before = time.perf_counter(), self.shares
        result, sampled = self.algorithm.train(), self._sampled()
        while self.run.recipe.num_env_runners and not sampled.steps:
            if time.perf_counter() - started > SILENT_SECONDS:
                raise TrainingError(f"no environment step in {SILENT_SECONDS:g} s, expected the processes that sample to answer")
            time.sleep(RETRY_SECONDS)
            result, sampled = self.algorithm.train(), self._sampled()
        seconds = time.perf_counter() - started
        self._seconds += seconds
        self._errors += sampled.errors
        self.progress.iteration += 1
        self.progress.steps += sampled.steps
        self.progress.episodes += len(sampled.ratios) + sampled.errors
        self.progress.seconds += seconds
        ratio = geomean(sampled.ratios) if sampled.ratios else None
        learner = result.get("learners", {}).get(DEFAULT_MODULE_ID, {})
        scalars = {f"learner/{name}": float(value) for name, value in learner.items() if _is_number(value)} | {
            "train/ratio": float("nan") if ratio is None else ratio,
            "train/return": float(result.get("env_runners", {}).get("episode_return_mean", float("nan"))),
            "train/episode_length": float(np.mean(sampled.lengths)) if sampled.lengths else float("nan"),
            "train/steps_per_second": sampled.steps / seconds,
            "train/errors": float(self._errors),
        }
        if before and (after := self.shares):
            scalars |= {f"{SECONDS}{part}": seconds - before.parts[part] for part, seconds in after.parts.items()}
        return Update(scalars, ratio, np.array(sampled.actions))

    def validate(self) -> bool:
        """Play one greedy episode per validation program, and note their ratio; whether it is the best so far."""
        if self.run.recipe.num_env_runners:  # asynchronous algorithms leave this process's own runner as it was
            self.algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=self.algorithm.learner_group)
        network = network_of(self.algorithm)
        network.eval()
        choose = self._player(network)
        scripts = (persistent(partial(episode, program, choose)) for program in self.validation_programs)
        traces = play_in_order(self._validation, scripts)
        network.train()
        ratio = geomean(ratios(self.validation_programs, traces))
        progress = self.progress
        progress.curve.append({"iteration": progress.iteration, "steps": progress.steps, "seconds": progress.seconds, "ratio": ratio})
        best = ratio < progress.best_ratio
        progress.best_ratio = min(ratio, progress.best_ratio)
        return best

    def save(self, folder: Path) -> None:
        """Write a checkpoint into a folder."""
        write_checkpoint(folder, self.algorithm, self.run.to_json())

    def close(self) -> None:
        """Ends all compilers. May be called twice."""
        self._ended.close()

    def _sampled(self) -> Sampled:
        if not self.run.recipe.num_env_runners:
            return self.env.take()
        return sum(self.algorithm.env_runner_group.foreach_env_runner(_take, timeout_seconds=SILENT_SECONDS), Sampled())

    @cached_property
    def _player(self) -> Callable[[PolicyNetwork], Decide]:
        return self.run.recipe.player(network_of(self.algorithm), self._validation[0])


def _remove_results(folder: Path) -> None:
    """Remove the folder of results that Tune makes for every algorithm, and that of all of them if no other is in it."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()


def _take(runner: Any) -> Sampled:
    """Return what a runner has sampled, in its process."""
    env: TrainingEnv = runner.env.env
    return env.take()


def ratios(programs: Sequence[Any], traces: Sequence[Trace]) -> list[float]:
    """Return the ratios of a validation, without programs that define no function.

    Raises:
        ProgramError: a program cannot be begun, or none defines a function.
    """
    empty = empty_modules(program.bitcode for program, trace in zip(programs, traces, strict=True) if not trace.ratios)
    found = [_scored(trace) for program, trace in zip(programs, traces, strict=True) if trace.ratios or program.bitcode not in empty]
    if not found:
        raise ProgramError(f"{', '.join(trace.program for trace in traces)}: no function to validate on, expected one in at least one program")
    return found


def _scored(trace: Trace) -> float:
    """Return the ratio of an episode, finite where the compiler failed. A program that cannot be begun is an error."""
    if not trace.ratios and not trace.steps:
        raise ProgramError(f"{trace.program}: {trace.error}")
    return trace.scored


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or (hasattr(value, "ndim") and value.ndim == 0)
