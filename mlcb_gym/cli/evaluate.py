# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb evaluate``: a policy against the compiler's own heuristic and policies that do not learn."""

from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mlcb_gym.cli.experimental import mention_experimental
from mlcb_gym.cli.shared_options import POLICY, EnvArguments, Seed, Task
from mlcb_gym.cli.task_options import ENVIRONMENT, TaskCommand, task_options
from mlcb_gym.envs import env_class
from mlcb_gym.errors import PolicyError, TaskError

TABLE_WIDTH = 150
"""The width of an evaluation's table that is not cut."""
JOURNAL = "journal"
"""The parameter of evaluations that go on where they were interrupted."""


class EvaluateCommand(TaskCommand):
    """``mlcb evaluate``, which takes the options of the evaluation that the task asks for."""

    def functions(self, task: str) -> Sequence[Callable[..., Any]]:
        from mlcb_gym.evaluation.evaluators import evaluator

        return (evaluator(task),)


def evaluate(
    ctx: typer.Context,
    task: Task,
    policy: Annotated[Path | None, typer.Option(help="A policy folder; by default the one that ships.", **POLICY)] = None,
    split: Annotated[str, typer.Option(help="The split of the task's corpus, unless PROGRAMS are given.")] = "test",
    programs: Annotated[list[str] | None, typer.Option(help="Any programs; repeatable.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of evaluation.json and evaluation.png.")] = Path("evaluation"),
    seed: Seed = 1,
    env: EnvArguments = None,
) -> None:
    """Compare a policy with the compiler's own heuristic and with policies that do not learn, program by program.

    The best of some random episodes (and fixed sequences) is a row too: `--best-of 10`, repeatable; by default 1 and 10. `--candidates 3`,
    repeatable, adds what `mlcb clang-config --candidates 3` gains, `--linked PROGRAMS` executables, `--search` what a search of each program finds.
    The same command, given again after it was interrupted, goes on where it stopped. By run time, every executable runs `--rounds 40` times, and
    nothing is kept of an interruption. Arguments of the environment beside those of the policy are options too: `mlcb evaluate
    TASK --help` lists all that a task has.
    """
    from mlcb_gym.evaluation.evaluators import evaluator
    from mlcb_gym.evaluation.journal import Journal
    from mlcb_gym.onnx.manifest import read_manifest
    from mlcb_gym.policies import shipped

    run = evaluator(task)
    arguments, options = task_options(task, ctx.args, env, run)
    folder = policy or shipped().get(task)
    if folder is None:
        raise PolicyError(f"{task}: no policy ships, expected --policy FOLDER")
    if (decides := read_manifest(folder)["task"]) != task:
        raise PolicyError(f"{folder}: a policy for {decides}, expected one for {task}")
    if arguments and ENVIRONMENT not in signature(run).parameters:
        raise TaskError(f"{task}: no environment is made in its evaluation, expected none of the arguments {', '.join(arguments)}")
    environment = {ENVIRONMENT: arguments} if arguments else {}
    output.mkdir(parents=True, exist_ok=True)  # what is wrong with it is known before anything is played
    journal = Journal(output / "unfinished.jsonl")
    kept = {JOURNAL: journal} if JOURNAL in signature(run).parameters else {}
    evaluation = run(folder, programs or f"{env_class(task).record.corpus}/{split}", seed=seed, **options, **environment, **kept)
    console = Console()
    console.width = max(console.width, TABLE_WIDTH)
    console.print(evaluation.table())
    evaluation.write(output)
    journal.remove()
    if evaluation.remark:
        print(evaluation.remark)
    mention_experimental([folder])
