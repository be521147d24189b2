# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training loop: update, validate, save, until the iterations or the time are used up."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core import DEFAULT_MODULE_ID
from rich.console import Console

from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.corpus.bitcode import is_empty
from mlcb_gym.errors import ProgramError
from mlcb_gym.rollout.play import Decide, episode, play_in_order
from mlcb_gym.rollout.trace import Trace, geomean
from mlcb_gym.training.checkpoints import Checkpoints
from mlcb_gym.training.curves import VALIDATION, Curves
from mlcb_gym.training.interruption import Interruption
from mlcb_gym.training.profile import Shares, watch_model
from mlcb_gym.training.progress import Display, status_line
from mlcb_gym.training.run import Progress, Run
from mlcb_gym.training.training_env import training_env


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


def network_of(algorithm: Algorithm) -> PolicyNetwork:
    """Return the network of the algorithm's environment runner."""
    network: PolicyNetwork = algorithm.env_runner.module.network
    return network


class Loop:
    """The updates, validations and checkpoints of one call of ``train``."""

    def __init__(
        self,
        algorithm: Algorithm,
        run: Run,
        validation: VectorEnv[Any, Any, Any],
        checkpoints: Checkpoints,
        budget: Budget,
        console: Console,
        curves: Curves,
        display: Display,
    ) -> None:
        self.algorithm, self.run, self.checkpoints, self.budget, self.console = algorithm, run, checkpoints, budget, console
        self.curves, self.display = curves, display
        self.validation = validation.unwrapped.envs
        self.env = training_env(algorithm)
        self.model = watch_model(algorithm)
        self.training_seconds = 0.0
        self._doing = ""
        self._ratio: float | None = None
        self._first_iteration, self._first_steps = run.progress.iteration, self.env.steps

    @cached_property
    def _player(self) -> Callable[[PolicyNetwork], Decide]:
        return self.run.recipe.player(network_of(self.algorithm), self.validation[0])

    @property
    def progress(self) -> Progress:
        return self.run.progress

    def go(self) -> None:
        """Update the policy until the budget is used up, or Ctrl-C.

        Raises:
            KeyboardInterrupt: Ctrl-C; the run is saved as it is then.
        """
        self._started = time.monotonic()
        spec, recipe, every = self.run.spec, self.run.recipe, self.budget.validate_every
        self._say(
            f"{spec['task']} {recipe.algorithm}: {self.run.programs} programs, {len(self.validation[0].programs)} to validate, seed {recipe.seed}"
        )
        self.display.status = self._status
        with Interruption(lambda: self._say("Ctrl-C: stopping after this update; Ctrl-C again stops at once")) as interruption:
            if self.progress.iteration == 0:
                self._validate()
            validated = True
            while not interruption.asked and self._left() > 0:
                self._iterate()
                validated = self.progress.iteration % every == 0
                if validated:
                    self._validate()
            if not validated and interruption.asked:
                self.checkpoints.save(self.algorithm, self.run.to_json(), best=False)
            elif not validated:
                self._validate()
            if interruption.asked:
                raise KeyboardInterrupt
        self.console.print(Shares.of(training_seconds=self.training_seconds, env=self.env, model=self.model).table())

    def _left(self) -> float:
        """Return the seconds to the end of the budget; infinite where that is not known."""
        elapsed, updates = time.monotonic() - self._started, self.progress.iteration - self._first_iteration
        remaining = self.budget.iterations - self.progress.iteration
        of_updates = remaining * elapsed / updates if updates else float("inf") if remaining > 0 else 0.0
        return min(self.budget.seconds - elapsed, of_updates)

    def _iterate(self) -> None:
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
        episodes = self.env.take_episodes()
        self._ratio = geomean(episodes.ratios) if episodes.ratios else None
        learner = result.get("learners", {}).get(DEFAULT_MODULE_ID, {})
        scalars = {f"learner/{name}": float(value) for name, value in learner.items() if _is_number(value)} | {
            "train/ratio": float("nan") if self._ratio is None else self._ratio,
            "train/return": float(result.get("env_runners", {}).get("episode_return_mean", float("nan"))),
            "train/episode_length": float(np.mean(episodes.lengths)) if episodes.lengths else float("nan"),
            "train/steps_per_second": steps / seconds,
            "train/errors": float(self.env.errors),
        }
        self.curves.add(self.progress.steps, scalars)
        self.curves.add_actions(self.progress.steps, np.array(episodes.actions))

    def _validate(self) -> None:
        """One greedy episode per validation program, and a checkpoint."""
        self._doing = "validation"
        network = network_of(self.algorithm)
        network.eval()
        choose = self._player(network)
        programs = self.validation[0].programs
        traces = play_in_order(self.validation, (episode(program, choose) for program in programs))
        network.train()
        ratio = geomean(_ratios(programs, traces))
        progress = self.progress
        progress.curve.append({"iteration": progress.iteration, "steps": progress.steps, "seconds": progress.seconds, "ratio": ratio})
        best = ratio < progress.best_ratio
        progress.best_ratio = min(ratio, progress.best_ratio)
        self.curves.add(progress.steps, {VALIDATION: ratio})
        self.checkpoints.save(self.algorithm, self.run.to_json(), best=best)
        self._say(f"validation after update {progress.iteration}: ratio {ratio:.4f}{', the best' if best else f', best {progress.best_ratio:.4f}'}")
        self._doing = ""

    def _status(self) -> str:
        """Return the line of the display."""
        elapsed, left = time.monotonic() - self._started, self._left()
        return status_line(
            iteration=self.progress.iteration,
            rate=(self.env.steps - self._first_steps) / elapsed if elapsed > 1 else None,
            ratio=self._ratio,
            best=self.progress.best_ratio,
            left=max(left, 0.0) if left < float("inf") else None,
            done=self._doing,
        )

    def _say(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False)


def _ratios(programs: Sequence[Any], traces: Sequence[Trace]) -> list[float]:
    """Return the ratios of a validation, without programs that define no function.

    Raises:
        ProgramError: a program cannot be begun, or none defines a function.
    """
    ratios = [_scored(trace) for program, trace in zip(programs, traces, strict=True) if trace.ratios or not is_empty(program.bitcode)]
    if not ratios:
        raise ProgramError(f"{', '.join(trace.program for trace in traces)}: no function to validate on, expected one in at least one program")
    return ratios


def _scored(trace: Trace) -> float:
    """Return the ratio of an episode; that of its start where the compiler failed. A program that cannot be begun is an error."""
    if not trace.ratios:
        raise ProgramError(f"{trace.program}: {trace.error}")
    return trace.scored


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or (hasattr(value, "ndim") and value.ndim == 0)
