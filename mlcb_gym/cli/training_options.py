# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options that ``mlcb train`` and ``mlcb sweep`` share, each declared once."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from mlcb_gym.cli.shared_options import ENV_HELP, PROGRAMS_HELP, SEED_HELP, absolute, algorithm_name, training_programs
from mlcb_gym.cli.task_options import assigned, task_options
from mlcb_gym.envs import env_class, environments
from mlcb_gym.errors import TrainingError
from mlcb_gym.training.registry import algorithms

if TYPE_CHECKING:
    from torch import Tensor

    from mlcb_gym.training.loop import Budget
    from mlcb_gym.training.recipe import Recipe
    from mlcb_gym.training.training_env import Environment

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

OUT_OF_THE_SANDBOX = ("session", "compiler")
"""Arguments of an environment by which another compiler than a worker of this package runs."""

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
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="The Ray cluster to train on, or auto for the one of this machine. By default a Ray of this training's own.",
        rich_help_panel=LEARNING,
    ),
]
CheckpointEvery = Annotated[int, typer.Option(min=1, help="The updates between two checkpoints; each is validated.", rich_help_panel=CHECKPOINTS)]


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A training as a command line declares it.

    Args:
        decisions: folders of decisions that first weights are learnt from.
        clone: whether first weights are a clone of the compiler's own heuristic.
    """

    environment: "Environment"
    recipe: "Recipe"
    validation: list[str]
    decisions: tuple[str, ...] = ()
    clone: bool = False

    def weights(self) -> "dict[str, Tensor] | None":
        """Learn the first weights; None where there is nothing to learn them from."""
        from mlcb_gym.training.imitation.behavioural_cloning import clone_heuristic
        from mlcb_gym.training.imitation.distill import warm_start
        from mlcb_gym.training.progress import Display

        if not self.decisions and not self.clone:
            return None
        with Display(Console(), "learning first weights"):
            if self.clone:
                return clone_heuristic(self.environment, self.recipe)
            return warm_start(self.environment, self.recipe, *map(Path, self.decisions))

    @property
    def weights_from(self) -> dict[str, Any]:
        """Where the first weights are from, as a run keeps it."""
        return {"decisions": self.decisions, "clone": self.clone}


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
    return Declared(environment=Environment(environments()[task], {"programs": programs} | arguments), recipe=chosen, validation=judges)


def join(address: str | None) -> None:
    """Join the cluster at an address, if one is given."""
    if address is not None:
        from mlcb_gym.training.ray_session import join_ray

        join_ray(address)


def budget(minutes: float, iterations: int | None, checkpoint_every: int) -> "Budget":
    """Return the budget that the options of a command declare."""
    from mlcb_gym.training.loop import Budget

    return Budget(iterations=float("inf") if iterations is None else iterations, seconds=60 * minutes, validate_every=checkpoint_every)


def repeated(task: str, run: Path) -> tuple[Declared, "Budget"]:
    """Return the training of a run in a folder, and the updates that it made; says what it was made with otherwise.

    Raises:
        TrainingError: there is no run of the task.
    """
    from mlcb_gym.training.checkpoints import last_run
    from mlcb_gym.training.learnable import find_programs
    from mlcb_gym.training.loop import Budget
    from mlcb_gym.training.provenance import differences, provenance
    from mlcb_gym.training.run import current_commit

    saved = last_run(run)
    if saved.environment.id != environments()[task]:
        raise TrainingError(f"{run}: a run of {saved.environment.id}, expected one of {environments()[task]}")
    arguments = dict(saved.environment.arguments)
    if left_out := {name: arguments.pop(name) for name in OUT_OF_THE_SANDBOX if arguments.get(name)}:  # the run may be somebody else's
        saved = replace(saved, environment=replace(saved.environment, arguments=arguments))
        told = ", ".join(f"{name}={value!r}" for name, value in left_out.items())
        print(f"{run}: without its {told}, by workers of this machine", file=sys.stderr)
    weights = saved.begun_with.get("weights", {})
    declared = Declared(
        environment=saved.environment,
        recipe=saved.recipe,
        validation=list(saved.validation),
        decisions=tuple(weights.get("decisions", ())),
        clone=weights.get("clone", False),
    )
    now = provenance(*find_programs(saved.environment, saved.validation), saved.recipe.files) | {"commit": current_commit()}
    for difference in differences({**saved.provenance, "commit": saved.commit}, now):
        print(f"{run}: {difference}", file=sys.stderr)
    if saved.progress.resumed:
        print(f"{run}: was resumed, {saved.progress.resumed} times, which is not repeated", file=sys.stderr)
    return declared, Budget(iterations=saved.progress.iteration, validate_every=saved.begun_with.get("validate_every", Budget.validate_every))
