# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb log``: episodes in the format of LLVM's training log."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym.cli.shared_options import EnvArguments, Seed, Task
from mlcb_gym.cli.task_options import ANY_OPTION, TaskCommand, task_options
from mlcb_gym.envs import env_class

app = typer.Typer(help="Logs in the format of LLVM's -training-log, which MLGO's tools read.", no_args_is_help=True)

Log = Annotated[Path, typer.Argument(help="A log.")]


@app.command()
def show(log: Log) -> None:
    """Print the tensors that a log declares, and the number of its observations."""
    from rich.console import Console

    from mlcb_gym.rollout.log import summary

    Console().print(summary(log))


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="A log, or a .jsonl.")],
    target: Annotated[Path, typer.Argument(help="The file to write: .jsonl or .npz; from .jsonl, a log of another ending.")],
) -> None:
    """Write a log as lines of JSON, as NumPy arrays, or lines of JSON as a log."""
    from mlcb_gym.rollout import log as logs

    logs.convert(source, target)


@app.command(cls=TaskCommand, context_settings=ANY_OPTION)
def record(
    ctx: typer.Context,
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="The log to write.")],
    programs: Annotated[str, typer.Option(help="The programs that are compiled.")] = "embedded/train",
    policy: Annotated[
        str, typer.Option(help="The policy: default: (LLVM's own heuristic), random, a policy folder, or the task of a policy that ships.")
    ] = "default:",
    episodes: Annotated[int, typer.Option(min=1, help="The episodes of each program.")] = 1,
    seed: Seed = 1,
    env: EnvArguments = None,
) -> None:
    """Play episodes, and write their observations, decisions and rewards.

    Arguments of the task's environment are options too: `mlcb log record TASK --help` lists them.
    """
    import numpy as np

    from mlcb_gym.corpus.programs import resolve
    from mlcb_gym.policies import policy_path
    from mlcb_gym.rollout import log as logs
    from mlcb_gym.rollout.onnx_policy import OnnxPolicy
    from mlcb_gym.rollout.random_policy import random

    (arguments,) = task_options(task, ctx.args, env)
    exported = None if policy in ("default:", "random") else OnnxPolicy(policy_path(policy))
    chosen = resolve(programs)
    with closing(env_class(task)(programs=chosen, **(exported.env_arguments if exported else {}) | arguments)) as made:
        choose = exported.player(made) if exported else random(np.random.default_rng(seed)) if policy == "random" else made.default_action
        recorded = logs.record(made, chosen, choose, output, episodes=episodes)
    for context, error in recorded.failed.items():
        print(f"{context}: {error}", file=sys.stderr)
    print(f"{output}: {recorded.decisions} decisions in {recorded.episodes} episodes")
