# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb train``: a policy from the rewards of an environment."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mlcb_gym.cli.shared_options import ENV_HELP, PROGRAMS_HELP, SEED_HELP, Task, absolute, algorithm_name, training_programs
from mlcb_gym.cli.task_options import assigned, task_options
from mlcb_gym.envs import env_class, environments
from mlcb_gym.training.registry import algorithms

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

PROGRAMS, BUDGET, LEARNING, CHECKPOINTS = "Programs and environment", "Budget", "Learning", "Checkpoints"
"""The groups of options in the help."""


def train(
    ctx: typer.Context,
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of checkpoints and curves.")],
    programs: Annotated[list[str] | None, typer.Option(help=PROGRAMS_HELP, rich_help_panel=PROGRAMS)] = None,
    validation: Annotated[
        list[str] | None,
        typer.Option(
            help="The programs that the best checkpoint is chosen by; repeatable. By default the validation splits of the corpora trained on.",
            rich_help_panel=PROGRAMS,
        ),
    ] = None,
    env: Annotated[list[str] | None, typer.Option("--env", help=ENV_HELP, rich_help_panel=PROGRAMS)] = None,
    minutes: Annotated[
        float, typer.Option(help="The wall time; the update under way and a last validation are still finished.", rich_help_panel=BUDGET)
    ] = 60.0,
    iterations: Annotated[
        int | None, typer.Option(help="The updates of the policy at most; by default as many as there is time for.", rich_help_panel=BUDGET)
    ] = None,
    algo: Annotated[
        str | None,
        typer.Option(
            parser=algorithm_name,
            metavar="NAME",
            help=f"The algorithm: {', '.join(algorithms())}. By default the one that suits the task.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A hyperparameter, as lr=1e-4 or network.hidden=[128,128]; repeatable. `mlcb recipes TASK` lists them.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help=f"{SEED_HELP} By default 1.", rich_help_panel=LEARNING)] = None,
    decisions: Annotated[
        list[Path] | None, typer.Option(help="Decisions that `mlcb search` wrote, to start from; repeatable.", rich_help_panel=LEARNING)
    ] = None,
    clone: Annotated[bool, typer.Option("--clone", help="Start from a clone of the compiler's own heuristic.", rich_help_panel=LEARNING)] = False,
    checkpoint_every: Annotated[
        int, typer.Option(min=1, help="The updates between two checkpoints; each is validated.", rich_help_panel=CHECKPOINTS)
    ] = 10,
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
    (arguments,) = task_options(task, ctx.args, env)
    if decisions and clone:
        raise typer.BadParameter("--decisions and --clone: expected one of them")
    from mlcb_gym.corpus.programs import resolve, validation_of
    from mlcb_gym.training import train as training
    from mlcb_gym.training.imitation.behavioural_cloning import clone_heuristic
    from mlcb_gym.training.imitation.distill import warm_start
    from mlcb_gym.training.progress import Display
    from mlcb_gym.training.run import recipe
    from mlcb_gym.training.training_env import Environment

    training.check_output(output, resume=resume)
    if resume and (kept := [name for name, value in _of_a_run(ctx).items() if value]):
        print(f"{output}: resumed as it was begun, without {', '.join(kept)}", file=sys.stderr)
    programs = absolute(training_programs(task, programs))
    judges = absolute(validation or validation_of(programs))
    if not resume:  # a run holds its own
        resolve(judges)  # what is wrong with them is known before anything starts
    environment = Environment(environments()[task], {"programs": programs} | arguments)
    try:
        chosen = recipe(algo or env_class(task).record.recipe, ({} if seed is None else {"seed": seed}) | assigned(set_ or []))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    weights = None
    if (decisions or clone) and not resume:
        with Display(Console(), "learning first weights"):
            weights = warm_start(environment, chosen, *decisions) if decisions else clone_heuristic(environment, chosen)
    budget = training.Budget(iterations=float("inf") if iterations is None else iterations, seconds=60 * minutes, validate_every=checkpoint_every)
    try:
        best = training.train(environment, recipe=chosen, validation=judges, output=output, budget=budget, resume=resume, weights=weights)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    print(f"best checkpoint: {best}")


def _of_a_run(ctx: typer.Context) -> dict[str, Any]:
    """Return the options that a run is begun with, and their values."""
    given = ctx.params
    named = {f"--{name}": given[name] for name in ("programs", "validation", "env", "algo", "seed", "decisions", "clone")}
    return named | {"--set": given["set_"], "arguments of the environment": ctx.args}
