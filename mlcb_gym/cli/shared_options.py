# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments and options that several commands share, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym import _native
from mlcb_gym.envs import environments
from mlcb_gym.policies import policy_path
from mlcb_gym.training.registry import algorithms


def named_task(text: str) -> str | None:
    """Return the task of a name, with dashes or underscores; None where there is none."""
    name = text.replace("-", "_")
    return name if name in environments() else None


def task_name(text: str) -> str:
    """Return the task of a name; an unknown one is an error that lists the known ones."""
    if (name := named_task(text)) is not None:
        return name
    if text in _native.tasks():
        raise typer.BadParameter(f"{text!r}: its package is not imported, expected its name in MLCB_TASKS")
    raise typer.BadParameter(f"{text!r}: expected one of {', '.join(sorted(environments()))}")


def algorithm_name(text: str) -> str:
    """Return the name of an algorithm; an unknown one is an error that lists the known ones."""
    if text not in algorithms():
        raise typer.BadParameter(f"{text!r}: expected one of {', '.join(algorithms())}")
    return text


def tasks_named(beginning: str) -> list[str]:
    """Return the names of tasks that begin so, for the completion of a shell."""
    return [task for task in sorted(environments()) if task.startswith(beginning.replace("-", "_"))]


Task = Annotated[str, typer.Argument(help="A task, as `mlcb list` names them.", parser=task_name, metavar="TASK", autocompletion=tasks_named)]
PROGRAMS_HELP = "A corpus (its training split), a split of it, a folder or a file; repeatable. By default the task's corpus."
ENV_HELP = "An argument of the environment, as max_steps=3; repeatable. `--max-steps 3` does the same."
SEED_HELP = "The seed of all that is drawn at random."
Programs = Annotated[list[str] | None, typer.Option(help=PROGRAMS_HELP)]
EnvArguments = Annotated[list[str] | None, typer.Option("--env", help=ENV_HELP)]
POLICY = {"parser": policy_path, "metavar": "POLICY"}
"""The settings of an argument or option that names a policy."""
Cpu = Annotated[
    str | None, typer.Option(help="The processor that it may run on: baseline, x86-64-v2, x86-64-v3 (the default on x86-64) or x86-64-v4.")
]
Seed = Annotated[int, typer.Option(help=SEED_HELP)]


def training_programs(task: str, programs: list[str] | None) -> list[str]:
    """Return the given programs, of a whole corpus its training split; by default that of the task's corpus."""
    from mlcb_gym.corpus.registry import CORPORA
    from mlcb_gym.envs import env_class

    given = programs or [env_class(task).record.corpus]
    return [f"{name}/train" if (name := uri.rstrip("/")) in CORPORA and "train" in CORPORA[name].splits else uri for uri in given]


def absolute(programs: list[str]) -> list[str]:
    """Return names of programs that mean the same in any folder: paths are made absolute, corpora stay."""
    from mlcb_gym.corpus.registry import corpus_of

    return [uri if corpus_of(uri) else str(Path(uri).absolute()) for uri in programs]
