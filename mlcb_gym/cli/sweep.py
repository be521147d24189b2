# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb sweep``: trainings with other hyperparameters, compared by validation."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym.cli import training_options as options
from mlcb_gym.cli.shared_options import Task
from mlcb_gym.cli.tables import wide_console
from mlcb_gym.cli.task_options import assignments_of
from mlcb_gym.envs import environments
from mlcb_gym.errors import TrainingError

SEARCH = "Search"


def sweep(
    ctx: typer.Context,
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the trials, the table and the plot.")],
    search: Annotated[
        list[str] | None,
        typer.Option(
            help="A hyperparameter and its values, as lr=log(1e-5,1e-3), gae_lambda=uniform(0.9,1), n_step=int(1,5) or "
            "network.hidden=[[64],[256,256]]; repeatable. By default the space of the algorithm, which `mlcb recipes TASK` lists.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="The number of trials; as many run at once as there are cores.", rich_help_panel=SEARCH)] = 20,
    scheduler: Annotated[
        str,
        typer.Option(
            help="asha ends trials that fall behind; pbt lets them go on from better ones, with changed hyperparameters; none.",
            rich_help_panel=SEARCH,
        ),
    ] = "asha",
    searcher: Annotated[
        str, typer.Option(help="random, or optuna (`pip install optuna`), which learns from the trials that ended.", rich_help_panel=SEARCH)
    ] = "random",
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
    checkpoint_every: options.CheckpointEvery = 10,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the sweep in OUTPUT.", rich_help_panel=options.CHECKPOINTS)] = False,
) -> None:
    """Train a policy many times with other hyperparameters, with Ray Tune, and link the best checkpoint as OUTPUT/best.

    A budget is that of one trial. Arguments of the task's environment are options too: `mlcb sweep TASK --help` lists them.
    """
    from mlcb_gym.training.scheduling import is_fixed
    from mlcb_gym.training.sweep import Sweep
    from mlcb_gym.training.sweep_run import run_sweep

    if resume:
        asked = Sweep.read(output)
        if asked.environment.id != environments()[task]:
            raise TrainingError(f"{output}: a sweep of {asked.environment.id}, expected one of {environments()[task]}")
        print(f"{output}: resumed as it was begun, without other options", file=sys.stderr)
    else:
        begun = options.declared(task, ctx.args, programs, validation, env, algo=algo, set_=set_, seed=seed, runners=runners, envs=envs)
        usual = {name: values for name, values in begun.recipe.space.items() if scheduler != "pbt" or not is_fixed(name)}
        asked = Sweep(
            environment=begun.environment,
            recipe=begun.recipe,
            validation=begun.validation,
            space=assignments_of(search) if search else usual,
            budget=options.budget(minutes, iterations, checkpoint_every),
            trials=trials,
            scheduler=scheduler,  # type: ignore[arg-type]  # checked by it
            searcher=searcher,  # type: ignore[arg-type]
        )
    options.join(address)
    console = wide_console()
    best = run_sweep(asked, output, console, resume=resume)
    if best is None:
        console.print(f"interrupted: `mlcb sweep {task} --output {shlex.quote(str(output))} --resume` goes on", soft_wrap=True, highlight=False)
        raise typer.Exit(options.INTERRUPTED)
    print(f"best checkpoint: {best}")
