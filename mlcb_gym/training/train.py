# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training run: its algorithm begins or goes on, and the loop runs in a folder."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console

from mlcb_gym.envs import class_of
from mlcb_gym.errors import TrainingError
from mlcb_gym.training.checkpoints import Checkpoints, read_run
from mlcb_gym.training.curves import TENSORBOARD, Curves
from mlcb_gym.training.learnable import check_learns
from mlcb_gym.training.loop import Budget, Loop
from mlcb_gym.training.progress import Display
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.trainer import Trainer, Weights
from mlcb_gym.training.training_env import Environment

__all__ = ["Budget", "check_output", "train"]


def train(
    environment: Environment,
    *,
    recipe: Recipe,
    validation: Sequence[Any],
    output: Path,
    budget: Budget,
    resume: bool = False,
    weights: Weights | Callable[[], Weights | None] | None = None,
    weights_from: Mapping[str, Any] | None = None,
    console: Console | None = None,
) -> Path:
    """Train a policy and return its best checkpoint: the one with the lowest geometric mean of ratios over ``validation``.

    Args:
        environment: the environment; its ``programs`` are the training programs.
        validation: programs that ``environment.arguments["programs"]`` could also name, not learnt from; on ``resume``, those of the run.
        output: gets ``checkpoints/`` with the links ``last`` and ``best`` into it, and ``tensorboard/``.
        resume: go on from ``output``'s last checkpoint, with the recipe and environment stored there.
        weights: start from this state of the RLModule (see ``distill``), its feature statistics included, or from what this function learns once
            all else that is asked for is known to be possible; not read on ``resume``.
        weights_from: where these are from, in values that JSON can hold: the run keeps it.

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
        if callable(weights):
            weights = _learnt(weights, recipe, environment) if last is None else None
        display = stack.enter_context(Display(console, "starting compilers and Ray"))
        stack.push(partial(_say_what_is_saved, console, output, environment))
        begun_with = {"validate_every": budget.validate_every, "weights": weights_from or {}}
        made = Trainer.begin(environment, recipe, validation, weights, begun_with) if last is None else Trainer.resume(last, environment)
        trainer = stack.enter_context(closing(made))
        if last is not None and trainer.algorithm.local_replay_buffer is not None:
            console.print(f"{output}: resumed with an empty replay buffer", soft_wrap=True, highlight=False, markup=False)
        curves = stack.enter_context(Curves(output / TENSORBOARD, trainer.run.recipe, steps=trainer.progress.steps))
        Loop(trainer, checkpoints, budget, console, curves, display).go()
    best = checkpoints.path("best")
    assert best is not None
    return best


def _learnt(weights: Callable[[], Weights | None], recipe: Recipe, environment: Environment) -> Weights | None:
    """Learn first weights, once it is known that the recipe can learn from there."""
    recipe.config(environment)
    check_learns(recipe, environment)
    return weights()


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
    task = getattr(class_of(environment.id), "task", environment.id)
    said = f"interrupted before the first checkpoint: {output} holds no run"
    if last is not None:
        iteration = read_run(last)["progress"]["iteration"]
        said = f"interrupted: {output}/last holds update {iteration}; `mlcb train {task} --output {shlex.quote(str(output))} --resume` goes on"
    console.print(said, soft_wrap=True, highlight=False, markup=False)
