# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `mlcb` command."""

import json
import sys
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mlcb_gym import errors

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Machine learning inside an unmodified LLVM 22.", rich_markup_mode="markdown")


class TaskName(StrEnum):
    """The tasks that have an environment."""

    posetrl = "posetrl"


ENVIRONMENTS = {TaskName.posetrl: "PosetRL-v0"}

Task = Annotated[TaskName, typer.Argument(help="a task, as `mlcb list` names them")]


class Algorithm(StrEnum):
    """The algorithms that have a recipe."""

    ppo = "ppo"
    dqn = "dqn"


Programs = Annotated[list[str], typer.Option(help="a corpus, a split of it, a folder or a file; repeatable")]
TRAINING = ["default/train"]
VALIDATION = ["default/validation"]

Folder = Annotated[Path, typer.Argument(help="a policy folder, as `mlcb export` writes it")]


@app.command("list")
def list_tasks() -> None:
    """The tasks, what their agents see, and the policies that ship."""
    from mlcb_gym import _native, spec
    from mlcb_gym.policies import shipped

    console = Console()
    for task in _native.tasks():
        bound = spec.bind(task, {})
        table = Table("agent", "tensor", "dtype", "shape", "meaning", title=f"{task}: {bound.declared['doc']}", title_justify="left")
        for agent in bound.agents:
            for tensor in agent.inputs:
                table.add_row(agent.name, tensor.name, tensor.dtype, str(list(tensor.shape)), tensor.doc)
        console.print(table)
    for name, path in shipped().items():
        console.print(f"policy {name}: {path}")


@app.command()
def plugin() -> None:
    """The path of the LLVM plugin."""
    from mlcb_gym import toolchain

    print(toolchain.plugin())


@app.command("clang-config")
def clang_config(
    policies: Annotated[list[Path], typer.Argument(help="policy folders, each for another task")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the file to write")] = Path("mlcb.cfg"),
    guard: Annotated[bool, typer.Option(help="keep the result of -Oz where it is smaller")] = False,
) -> None:
    """Write a file that makes clang ask these policies: `clang --config=mlcb.cfg -Oz ...`."""
    from mlcb_gym.export.clang_config import write_clang_config

    write_clang_config(output, policies, guard=guard)
    print(f"clang --config={output.resolve()}")


@app.command()
def check(task: Task) -> None:
    """Check that an environment keeps Gymnasium's rules and its own."""
    import gymnasium

    from mlcb_gym.testing import check_compiler_env

    check_compiler_env(gymnasium.make(ENVIRONMENTS[task]))
    print(f"{ENVIRONMENTS[task]}: conforms")


@app.command()
def train(
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="folder of checkpoints and curves")],
    algo: Annotated[Algorithm, typer.Option(help="whose recipe")] = Algorithm.ppo,
    programs: Programs = TRAINING,
    validation: Annotated[list[str], typer.Option(help="what the best checkpoint is chosen by; repeatable")] = VALIDATION,
    minutes: Annotated[float, typer.Option(help="wall time")] = 60.0,
    iterations: Annotated[int, typer.Option(help="updates of the policy at most")] = 100_000,
    seed: int = 1,
    max_steps: Annotated[int, typer.Option(help="decisions in an episode at most")] = 10,
    actions: Annotated[str, typer.Option(help="a list that ships, or a file")] = "default",
    start: Annotated[str, typer.Option(help="unoptimized or Oz")] = "unoptimized",
    decisions: Annotated[Path | None, typer.Option(help="start from what `mlcb search` found")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a hyperparameter, as lr=1e-4 or network.hidden=[128,128]")] = None,
    resume: Annotated[bool, typer.Option(help="go on from the last checkpoint in OUTPUT")] = False,
) -> None:
    """Train a policy with RLlib."""
    from mlcb_gym.corpus.programs import resolve
    from mlcb_gym.training.distill import warm_start
    from mlcb_gym.training.environment import Environment
    from mlcb_gym.training.run import recipe
    from mlcb_gym.training.train import Budget, train

    arguments = {"programs": programs, "actions": actions, "max_steps": max_steps, "start": start}
    environment = Environment(ENVIRONMENTS[task], arguments)
    try:
        chosen = recipe(algo.value, {"seed": seed} | hyperparameters(set_ or []))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    weights = warm_start(environment, chosen, decisions) if decisions and not resume else None
    budget = Budget(iterations=iterations, seconds=60 * minutes)
    best = train(environment, recipe=chosen, validation=resolve(validation), output=output, budget=budget, resume=resume, weights=weights)
    print(f"best checkpoint: {best}")


@app.command()
def search(
    output: Annotated[Path, typer.Option("--output", "-o", help="folder of decisions")],
    programs: Programs = TRAINING,
    max_steps: int = 10,
    actions: str = "default",
) -> None:
    """Look ahead by forking the compiler: what every action leads to, for `mlcb train --decisions`."""
    from rich.progress import track

    from mlcb_gym.envs.posetrl import PosetRLEnv
    from mlcb_gym.training.lookahead import Lookahead, look_into_all

    with closing(PosetRLEnv(programs=programs, max_steps=max_steps, actions=actions)) as env:
        failed = 0
        for found in track(look_into_all(env, env.programs, Lookahead(), output), total=len(env.programs)):
            if found.error is not None:
                failed += 1
                print(f"{found.program}: {found.error}", file=sys.stderr)
    if failed == len(env.programs):
        raise errors.CompilerError("no program could be looked into")


@app.command()
def baselines(
    task: Task,
    decisions: Annotated[Path, typer.Argument(help="what `mlcb search` wrote")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the file to write")],
    programs: Programs = TRAINING,
    actions: Annotated[str, typer.Option(help="the list that was searched")] = "default",
) -> None:
    """Find the best fixed sequence, and a coreset of sequences, that `mlcb evaluate` compares with."""
    from mlcb_gym.training.baselines import find_baselines

    find_baselines(decisions, programs, actions=actions).write(output)


@app.command()
def export(
    checkpoint: Annotated[Path, typer.Argument(help="a checkpoint, as RUN/best")],
    folder: Folder,
    programs: Annotated[str, typer.Option(help="what the decisions are compared on")] = "embedded/validation",
) -> None:
    """Write a policy folder from a checkpoint, and check that every runtime decides alike."""
    from mlcb_gym.export.export import export_policy
    from mlcb_gym.export.parity import check_parity

    print(check_parity(checkpoint, export_policy(checkpoint, folder), programs))


@app.command()
def evaluate(
    task: Task,
    policy: Annotated[Path, typer.Option(help="a policy folder; by default the one that ships")] = Path(),
    split: Annotated[str, typer.Option(help="split of the corpora, unless PROGRAMS are given")] = "test",
    programs: Annotated[list[str] | None, typer.Option(help="any programs; repeatable")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="gets evaluation.json and evaluation.png")] = Path("evaluation"),
    best_of: Annotated[
        list[int] | None,
        typer.Option(min=1, help="of how many random episodes, and sequences of the coreset, to take the best: 1 and 10; repeatable"),
    ] = None,
    seed: int = 1,
) -> None:
    """Compare a policy with -Oz, fixed sequences, random and coreset search, program by program."""
    from mlcb_gym.corpus.corpora import BUILT
    from mlcb_gym.policies import shipped
    from mlcb_gym.training.evaluation import COUNTS, evaluate_policy

    folder = policy if policy != Path() else shipped().get(task.value)
    if folder is None:
        raise errors.PolicyError(f"{task.value}: no policy ships, expected --policy FOLDER")
    evaluation = evaluate_policy(folder, programs or [f"{corpus}/{split}" for corpus in BUILT], counts=best_of or COUNTS, seed=seed)
    evaluation.write(output)
    Console().print(evaluation.table())


def hyperparameters(assignments: list[str]) -> dict[str, Any]:
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


def _add_groups() -> None:
    from mlcb_gym.corpus import cli as corpus
    from mlcb_gym.corpus import odg, vocabulary
    from mlcb_gym.training import logs_cli as logs

    app.add_typer(corpus.app, name="corpus")
    app.add_typer(vocabulary.app, name="vocab")
    app.add_typer(odg.app, name="actions")
    app.add_typer(logs.app, name="log")


def main() -> None:
    """Runs the command; what the package reports by raising is one line and exit code 1."""
    _add_groups()
    from mlcb_gym._native import NativeError

    try:
        app()
    except (errors.MlcbError, NativeError) as error:
        print(f"mlcb: {error}", file=sys.stderr)
        sys.exit(1)
