# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that several commands have, and what they mean."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcb_gym.envs import environments


def task_name(text: str) -> str:
    """A task that has an environment; a dash is as good as an underscore."""
    name = text.replace("-", "_")
    if name not in environments():
        raise typer.BadParameter(f"{text!r}: expected one of {', '.join(sorted(environments()))}")
    return name


Task = Annotated[str, typer.Argument(help="a task, as `mlcb list` names them", parser=task_name, metavar="TASK")]

Programs = Annotated[list[str], typer.Option(help="a corpus, a split of it, a folder or a file; repeatable")]
TrainingPrograms = Annotated[list[str] | None, typer.Option(help="a corpus, a split of it, a folder or a file; repeatable; default/train")]
CORPUS = {"loop_distribution": "loops"}
"""What a task is trained on and objective by, where that is not the default corpus."""
TRAINING = ["default/train"]
TABLE_WIDTH = 150
"""What the table of an evaluation takes without being cut."""

Folder = Annotated[Path, typer.Argument(help="a policy folder, as `mlcb export` writes it")]


Cpu = Annotated[str | None, typer.Option(help="what it may run on: baseline, x86-64-v2, x86-64-v3 (the default on x86-64) or x86-64-v4")]


class Algorithm(StrEnum):
    """The algorithms that have a recipe."""

    ppo = "ppo"
    dqn = "dqn"
    mlgo = "mlgo"
    es = "es"


def corpus_of(task: str) -> str:
    """What a task is about, where nobody says otherwise."""
    return CORPUS.get(task, "default")


def validation_of(programs: list[str]) -> list[str]:
    """The validation splits of the corpora that are trained on; beside other programs, that of the corpus that ships."""
    from mlcb_gym.corpus.corpora import is_corpus
    from mlcb_gym.corpus.kernels import is_loops

    corpora = [name.split("/")[0] if is_corpus(name) or is_loops(name) else "embedded" for name in programs]
    return list(dict.fromkeys(f"{corpus}/validation" for corpus in corpora))


def env_arguments(task: str, assignments: list[str] | None) -> dict[str, Any]:
    """What ``--env`` says; an argument that the task's environment has not is an error that lists those it has."""
    from mlcb_gym.envs import env_class
    from mlcb_gym.envs.options import arguments_of

    given, known = assigned(assignments or []), arguments_of(env_class(task))
    if unknown := sorted(set(given) - set(known)):
        raise typer.BadParameter(f"--env {unknown[0]}: {task} has no such argument, expected one of {', '.join(sorted(known))}")
    return given


def own_arguments(task: str, **options: Any) -> dict[str, Any]:
    """Those options that the task's environment is made with."""
    from mlcb_gym.envs import env_class

    return {name: value for name, value in options.items() if name in env_class(task).parameters}


def assigned(assignments: list[str]) -> dict[str, Any]:
    """``["lr=1e-4", "network.hidden=[64]"]`` as nested mappings; values are JSON, or else text."""
    changes: dict[str, Any] = {}
    for assignment in assignments:
        path, separator, text = assignment.partition("=")
        if not separator:
            raise typer.BadParameter(f"{assignment!r}: expected NAME=VALUE")
        *outer, name = path.split(".")
        inner = changes
        for key in outer:
            inner = inner.setdefault(key, {})
        try:
            inner[name] = json.loads(text)
        except json.JSONDecodeError:
            inner[name] = text
    return changes
