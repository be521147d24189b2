# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb search`` and ``mlcb baselines``: decisions with known outcomes, and fixed sequences made of them."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym.cli.shared_options import EnvArguments, Programs, Task, training_programs
from mlcb_gym.cli.task_options import task_options
from mlcb_gym.envs import env_class
from mlcb_gym.errors import CompilerError


def search(
    ctx: typer.Context,
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of decisions.")],
    programs: Programs = None,
    env: EnvArguments = None,
) -> None:
    """Find the outcomes of decisions by forking the compiler, for `mlcb train --decisions`.

    Where several agents act and the compiler has no heuristic, every sequence of actions is tried, `--sequences 256` of a program at most. One agent
    without a heuristic is searched by a beam: every action at the most promising states. Where decisions do not depend on each other, an episode for
    each action has all outcomes. Else single other actions are tried, each followed by the heuristic or by `--policy POLICY`: at `--decisions 12` of
    a program, or at all with `--improve`.

    The same command, given again, goes on with the programs that were not searched; a folder of another search is refused.

    Arguments of the task's environment are options too: `mlcb search TASK --help` lists them.
    """
    from mlcb_gym.progress_bar import progress_bar
    from mlcb_gym.search.decisions import search_all
    from mlcb_gym.search.strategies import SEARCHES, search_in

    arguments, *options = task_options(task, ctx.args, env, *SEARCHES)
    if env_class(task).record.separable:
        arguments = {"dense": True, **arguments}
    with closing(env_class(task)(programs=training_programs(task, programs), **arguments)) as made:
        chosen = search_in(made, **{name: value for values in options for name, value in values.items()})
        skipped, failed = len(made.programs), 0
        for found in progress_bar(search_all(chosen, made.programs, output), total=len(made.programs)):
            skipped -= 1
            if found.error is not None:
                failed += 1
                print(f"{found.program}: {found.error}", file=sys.stderr)
    if failed == len(made.programs):
        raise CompilerError("no program could be searched")
    print(f"{output}: {len(made.programs) - skipped - failed} programs searched, {skipped} searched before, of {len(made.programs)}")


def baselines(
    ctx: typer.Context,
    task: Task,
    decisions: Annotated[Path, typer.Argument(help="The folder of decisions that `mlcb search` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    programs: Programs = None,
    env: EnvArguments = None,
) -> None:
    """Find the best fixed sequence, and a coreset of sequences, that `mlcb evaluate` compares with.

    Arguments of the environment that was searched, as `--actions odg`, are options too.
    """
    from mlcb_gym.search.fixed_sequences import find_fixed_sequences

    (arguments,) = task_options(task, ctx.args, env)
    find_fixed_sequences(task, decisions, training_programs(task, programs), environment=arguments).write(output)
