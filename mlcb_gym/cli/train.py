# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb train``: a policy from the rewards of an environment."""

from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym.cli.shared_options import EnvArguments, Programs, Seed, Task, training_programs
from mlcb_gym.cli.task_options import assigned, task_options
from mlcb_gym.envs import env_class, environments
from mlcb_gym.training.registry import algorithms


def algorithm_name(text: str) -> str:
    """Return the name of an algorithm; an unknown one is an error that lists the known ones."""
    if text not in algorithms():
        raise typer.BadParameter(f"{text!r}: expected one of {', '.join(algorithms())}")
    return text


def train(
    ctx: typer.Context,
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of checkpoints and curves.")],
    algo: Annotated[
        str | None,
        typer.Option(
            parser=algorithm_name, metavar="NAME", help=f"The algorithm: {', '.join(algorithms())}. By default the one that suits the task."
        ),
    ] = None,
    programs: Programs = None,
    validation: Annotated[
        list[str] | None,
        typer.Option(
            help="The programs that the best checkpoint is chosen by; repeatable. By default the validation splits of the corpora trained on."
        ),
    ] = None,
    minutes: Annotated[float, typer.Option(help="The wall time; the update under way and a last validation are still finished.")] = 60.0,
    iterations: Annotated[int, typer.Option(help="The updates of the policy at most.")] = 100_000,
    seed: Seed = 1,
    env: EnvArguments = None,
    decisions: Annotated[list[Path] | None, typer.Option(help="Decisions that `mlcb search` wrote, to start from; repeatable.")] = None,
    clone: Annotated[bool, typer.Option(help="Start from a clone of the compiler's own heuristic.")] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A hyperparameter, as lr=1e-4 or network.hidden=[128,128]; repeatable.")] = None,
    resume: Annotated[bool, typer.Option(help="Continue from the last checkpoint in OUTPUT.")] = False,
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
    from mlcb_gym.training.run import recipe
    from mlcb_gym.training.training_env import Environment

    programs = training_programs(task, programs)
    judges = resolve(validation or validation_of(programs))
    environment = Environment(environments()[task], {"programs": programs} | arguments)
    try:
        chosen = recipe(algo or env_class(task).record.recipe, {"seed": seed} | assigned(set_ or []))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    weights = None
    if decisions and not resume:
        weights = warm_start(environment, chosen, *decisions)
    elif clone and not resume:
        weights = clone_heuristic(environment, chosen)
    budget = training.Budget(iterations=iterations, seconds=60 * minutes)
    best = training.train(environment, recipe=chosen, validation=judges, output=output, budget=budget, resume=resume, weights=weights)
    print(f"best checkpoint: {best}")
