# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb train``: a policy from the rewards of an environment."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mlcb_gym.cli.shared_options import Task
from mlcb_gym.cli.training_options import (
    CHECKPOINTS,
    INTERRUPTED,
    LEARNING,
    Algo,
    CheckpointEvery,
    EnvArguments,
    Envs,
    Hyperparameters,
    Iterations,
    Minutes,
    OptionalSeed,
    Programs,
    Runners,
    Validation,
    declared,
)


def train(
    ctx: typer.Context,
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of checkpoints and curves.")],
    programs: Programs = None,
    validation: Validation = None,
    env: EnvArguments = None,
    minutes: Minutes = 60.0,
    iterations: Iterations = None,
    algo: Algo = None,
    set_: Hyperparameters = None,
    seed: OptionalSeed = None,
    runners: Runners = None,
    envs: Envs = None,
    decisions: Annotated[
        list[Path] | None, typer.Option(help="Decisions that `mlcb search` wrote, to start from; repeatable.", rich_help_panel=LEARNING)
    ] = None,
    clone: Annotated[bool, typer.Option("--clone", help="Start from a clone of the compiler's own heuristic.", rich_help_panel=LEARNING)] = False,
    checkpoint_every: CheckpointEvery = 10,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue from the last checkpoint in OUTPUT, with its programs, arguments and seed.", rich_help_panel=CHECKPOINTS
        ),
    ] = False,
) -> None:
    """Train a policy with RLlib.

    Arguments of the task's environment are options too: `mlcb train TASK --help` lists them.
    """
    if decisions and clone:
        raise typer.BadParameter("--decisions and --clone: expected one of them")
    begun = declared(task, ctx.args, programs, validation, env, algo=algo, set_=set_, seed=seed, runners=runners, envs=envs)
    from mlcb_gym.corpus.programs import resolve
    from mlcb_gym.training import train as training
    from mlcb_gym.training.imitation.behavioural_cloning import clone_heuristic
    from mlcb_gym.training.imitation.distill import warm_start
    from mlcb_gym.training.progress import Display

    training.check_output(output, resume=resume)
    if resume and (kept := [name for name, value in _of_a_run(ctx).items() if value]):
        print(f"{output}: resumed as it was begun, without {', '.join(kept)}", file=sys.stderr)
    if not resume:  # a run holds its own
        for named in (begun.environment.arguments["programs"], begun.validation):
            resolve(named)  # what is wrong with them is known before anything starts
    environment, recipe = begun.environment, begun.recipe
    weights = None
    if (decisions or clone) and not resume:
        with Display(Console(), "learning first weights"):
            weights = warm_start(environment, recipe, *decisions) if decisions else clone_heuristic(environment, recipe)
    budget = training.Budget(iterations=float("inf") if iterations is None else iterations, seconds=60 * minutes, validate_every=checkpoint_every)
    try:
        best = training.train(environment, recipe=recipe, validation=begun.validation, output=output, budget=budget, resume=resume, weights=weights)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    print(f"best checkpoint: {best}")


def _of_a_run(ctx: typer.Context) -> dict[str, Any]:
    """Return the options that a run is begun with, and their values."""
    given = ctx.params
    named = {f"--{name}": given[name] for name in ("programs", "validation", "env", "algo", "seed", "runners", "envs", "decisions", "clone")}
    return named | {"--set": given["set_"], "arguments of the environment": ctx.args}
