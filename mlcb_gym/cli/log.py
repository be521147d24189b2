# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb log``: episodes in the format of LLVM's training log."""

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcb_gym.cli.options import Task
from mlcb_gym.envs import environments
from mlcb_gym.errors import CompilerError

app = typer.Typer(help="Logs in the format of LLVM's -training-log, which MLGO's tools read.", no_args_is_help=True)

Log = Annotated[Path, typer.Argument(help="a log")]


@app.command()
def show(log: Log) -> None:
    """Print what a log declares, and how much of it there is."""
    from rich.console import Console

    from mlcb_gym.rollout.log import summary

    Console().print(summary(log))


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="a log, or a .jsonl")],
    target: Annotated[Path, typer.Argument(help=".jsonl, .npz; from .jsonl: a log")],
) -> None:
    """Write a log as lines of JSON, as NumPy arrays, or lines of JSON as a log."""
    from mlcb_gym.rollout import log as logs

    logs.convert(source, target)


@app.command()
def record(
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="the log to write")],
    programs: Annotated[str, typer.Option(help="what is compiled")] = "embedded/train",
    policy: Annotated[str, typer.Option(help="who decides: default: (LLVM's own heuristic), random, or a policy folder")] = "default:",
    episodes: Annotated[int, typer.Option(min=1, help="of each program")] = 1,
    seed: int = 1,
) -> None:
    """Play episodes, and write what was seen, decided and earned."""
    from mlcb_gym.corpus.programs import resolve
    from mlcb_gym.rollout import log as logs

    chosen = resolve(programs)
    with ExitStack() as open_:
        env = open_.enter_context(closing(_make(task, policy, programs=chosen)))
        if policy == "default:":
            choose = env.default_action
        elif policy == "random":
            choose = logs.random(seed, env)
        else:
            choose = open_.enter_context(logs.of_policy(Path(policy), env))
        recorded = logs.record(env, chosen, choose, output, episodes=episodes)
    for context, error in recorded.failed.items():
        print(f"{context}: {error}", file=sys.stderr)
    if not recorded.episodes:
        raise CompilerError("no program could be recorded")
    print(f"{output}: {recorded.decisions} decisions in {recorded.episodes} episodes")


def _make(task: Task, policy: str, **arguments: Any) -> Any:
    """The environment that the policy is for, or the default one."""
    import gymnasium

    from mlcb_gym.rollout.onnx_policy import OnnxPolicy

    if policy not in ("default:", "random"):
        arguments |= OnnxPolicy(Path(policy)).env_arguments
    return gymnasium.make(environments()[task], **arguments).unwrapped
