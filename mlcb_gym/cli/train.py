# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb train``: a policy from the rewards of an environment."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym.cli import training_options as options
from mlcb_gym.cli.shared_options import Task


def train(
    ctx: typer.Context,
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of checkpoints and curves.")],
    programs: options.Programs = None,
    validation: options.Validation = None,
    env: options.EnvArguments = None,
    minutes: options.Minutes = 60.0,
    iterations: options.Iterations = None,
    algo: options.Algo = None,
    set_: options.Hyperparameters = None,
    seed: options.OptionalSeed = None,
    runners: options.Runners = None,
    envs: options.Envs = None,
    address: options.Address = None,
    decisions: Annotated[
        list[Path] | None, typer.Option(help="Decisions of `mlcb search` to start from; repeatable.", rich_help_panel=options.LEARNING)
    ] = None,
    clone: Annotated[bool, typer.Option("--clone", help="Start from a clone of LLVM's own heuristic.", rich_help_panel=options.LEARNING)] = False,
    checkpoint_every: options.CheckpointEvery = 10,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue from the last checkpoint in OUTPUT, as it was begun.",
            rich_help_panel=options.CHECKPOINTS,
        ),
    ] = False,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="Train as the run in this folder was; all but OUTPUT is its own.", rich_help_panel=options.LEARNING),
    ] = None,
) -> None:
    """Train a policy with RLlib.

    Arguments of the task's environment are options too: `mlcb train TASK --help` lists them.
    """
    if decisions and clone:
        raise typer.BadParameter("--decisions and --clone: expected one of them")
    from mlcb_gym.training import train as training
    from mlcb_gym.training.checkpoints import read_run
    from mlcb_gym.training.learnable import find_programs, seen

    training.check_output(output, resume=resume)
    given = _of_a_run(ctx)
    if from_ and (also := ["--resume"] * resume + given + _of_a_budget(ctx)):
        raise typer.BadParameter(f"--from and {', '.join(also)}: expected --from alone")
    if resume and given:
        print(f"{output}: resumed as it was begun, without {', '.join(given)}", file=sys.stderr)
    if from_:
        begun, budget = options.repeated(task, from_)
    else:
        begun = options.declared(task, ctx.args, programs, validation, env, algo=algo, set_=set_, seed=seed, runners=runners, envs=envs)
        begun = replace(begun, decisions=tuple(str(folder.absolute()) for folder in decisions or ()), clone=clone)
        budget = options.budget(minutes, iterations, checkpoint_every)
        if not resume:  # a run holds its own
            found = find_programs(begun.environment, begun.validation)  # what is wrong with them is known before anything starts
            if note := seen(*found):
                print(note)
    options.join(address)
    try:
        best = training.train(
            begun.environment,
            recipe=begun.recipe,
            validation=begun.validation,
            output=output,
            budget=budget,
            resume=resume,
            weights=begun.weights if begun.decisions or begun.clone else None,
            weights_from=begun.weights_from,
        )
    except KeyboardInterrupt:
        raise typer.Exit(options.INTERRUPTED) from None
    untrained = read_run(best)["progress"]["iteration"] == 0
    print(f"best checkpoint: {best}{' (the weights before the first update)' if untrained else ''}")


def _of_a_run(ctx: typer.Context) -> list[str]:
    """Return the options on the command line that a run is begun with."""
    named = ("programs", "validation", "env", "algo", "seed", "runners", "envs", "decisions", "clone", "set_")
    return _given(ctx, *named) + ["arguments of the environment"] * bool(ctx.args)


def _of_a_budget(ctx: typer.Context) -> list[str]:
    """Return the options of a budget that are on the command line."""
    return _given(ctx, "iterations", "minutes", "checkpoint_every")


def _given(ctx: typer.Context, *names: str) -> list[str]:
    """Return those of the options that are on the command line."""
    return [f"--{name.rstrip('_').replace('_', '-')}" for name in names if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"]
