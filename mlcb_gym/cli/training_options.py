# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options that ``mlcb train`` and ``mlcb sweep`` share, each declared once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlcb_gym.cli.shared_options import ENV_HELP, PROGRAMS_HELP, SEED_HELP, absolute, algorithm_name, training_programs
from mlcb_gym.cli.task_options import assigned, task_options
from mlcb_gym.envs import env_class, environments
from mlcb_gym.training.registry import algorithms

if TYPE_CHECKING:
    from mlcb_gym.training.recipe import Recipe
    from mlcb_gym.training.training_env import Environment

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

PROGRAMS, BUDGET, LEARNING, CHECKPOINTS = "Programs and environment", "Budget", "Learning", "Checkpoints"
"""The groups of options in the help."""

Programs = Annotated[list[str] | None, typer.Option(help=PROGRAMS_HELP, rich_help_panel=PROGRAMS)]
Validation = Annotated[
    list[str] | None,
    typer.Option(
        help="The programs that the best checkpoint is chosen by; repeatable. By default the validation splits of the corpora trained on.",
        rich_help_panel=PROGRAMS,
    ),
]
EnvArguments = Annotated[list[str] | None, typer.Option("--env", help=ENV_HELP, rich_help_panel=PROGRAMS)]
Minutes = Annotated[
    float, typer.Option(help="The wall time of a training; the update under way and a last validation are still finished.", rich_help_panel=BUDGET)
]
Iterations = Annotated[
    int | None, typer.Option(help="The updates of the policy at most; by default as many as there is time for.", rich_help_panel=BUDGET)
]
Algo = Annotated[
    str | None,
    typer.Option(
        parser=algorithm_name,
        metavar="NAME",
        help=f"The algorithm: {', '.join(algorithms())}. By default the one that suits the task.",
        rich_help_panel=LEARNING,
    ),
]
Hyperparameters = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A hyperparameter, as lr=1e-4 or network.hidden=[128,128]; repeatable. `mlcb recipes TASK` lists them.",
        rich_help_panel=LEARNING,
    ),
]
OptionalSeed = Annotated[int | None, typer.Option(help=f"{SEED_HELP} By default 1.", rich_help_panel=LEARNING)]
Runners = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Processes that sample beside this one (--set num_env_runners=N). By default none, where the algorithm allows it.",
        rich_help_panel=LEARNING,
    ),
]
Envs = Annotated[
    int | None, typer.Option(min=1, help="Compilers at work at once, of each process that samples (--set num_envs=M).", rich_help_panel=LEARNING)
]
CheckpointEvery = Annotated[int, typer.Option(min=1, help="The updates between two checkpoints; each is validated.", rich_help_panel=CHECKPOINTS)]


@dataclass(frozen=True)
class Declared:
    """A training as a command line declares it."""

    environment: "Environment"
    recipe: "Recipe"
    validation: list[str]


def declared(
    task: str, rest: Sequence[str], programs: list[str] | None, validation: list[str] | None, env: list[str] | None, **learning: Any
) -> Declared:
    """Return the training that the options of a command declare.

    Args:
        rest: the options that the task alone knows.
        learning: the values of ``algo``, ``set_``, ``seed``, ``runners`` and ``envs``.
    """
    (arguments,) = task_options(task, rest, env)
    from mlcb_gym.corpus.programs import validation_of
    from mlcb_gym.training.run import recipe
    from mlcb_gym.training.training_env import Environment

    programs = absolute(training_programs(task, programs))
    judges = absolute(validation or validation_of(programs))
    named = {"seed": learning["seed"], "num_env_runners": learning["runners"], "num_envs": learning["envs"]}
    given = {name: value for name, value in named.items() if value is not None}
    chosen = recipe(learning["algo"] or env_class(task).record.recipe, given | assigned(learning["set_"] or []))
    return Declared(Environment(environments()[task], {"programs": programs} | arguments), chosen, judges)
