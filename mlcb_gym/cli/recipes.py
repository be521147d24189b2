# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb recipes``: the hyperparameters of training, and the results to expect."""

from typing import Annotated

import typer
from rich.table import Table

from mlcb_gym.cli.shared_options import algorithm_name, task_name
from mlcb_gym.cli.tables import wide_console
from mlcb_gym.envs import env_class, environments
from mlcb_gym.policies import card, shipped
from mlcb_gym.training.registry import algorithms

EXPECTED = "what the reward measures, of validation programs, to LLVM's own heuristic"


def results(task: str) -> str:
    """Return the results to expect: those of a short training, and where those of the policy that ships are."""
    measured = env_class(task).record.expected
    said = [measured] if measured else []
    if task in shipped():
        said.append(f"the policy that ships: {card(task)}")
    return "; ".join(said) or "not measured"


def recipes(
    task: Annotated[str | None, typer.Argument(help="A task, for every hyperparameter.", parser=task_name, metavar="[TASK]")] = None,
    algo: Annotated[
        str | None, typer.Option(parser=algorithm_name, metavar="NAME", help=f"Another algorithm than the task's own: {', '.join(algorithms())}.")
    ] = None,
) -> None:
    """List the algorithm of each task and the result to expect; of one TASK, every key of `mlcb train --set` with its default and meaning."""
    console = wide_console()
    if task is None:
        table = Table("task", "algorithm", "network", "corpus", f"result to expect ({EXPECTED})")
        for name in sorted(environments()):
            record = env_class(name).record
            table.add_row(name, record.recipe, record.network, record.corpus, results(name))
        console.print(table)
        return
    from mlcb_gym.training.hyperparameters import hyperparameters
    from mlcb_gym.training.registry import recipe_class

    record = env_class(task).record
    chosen = recipe_class(algo or record.recipe)
    table = Table("--set", "default", "meaning", "values of `mlcb sweep`", title=f"{task} {chosen.algorithm}: hyperparameters", title_justify="left")
    for each in hyperparameters(chosen()):
        table.add_row(each.key, each.default, each.meaning, chosen.space.get(each.key, ""))
    console.print(table)
    if chosen.algorithm == record.recipe:
        console.print(f"result to expect, {EXPECTED}: {results(task)}", highlight=False)
