# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `mlcb` command."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from mlcb_gym import errors
from mlcb_gym.cli.options import (
    CORPUS,
    TABLE_WIDTH,
    TRAINING,
    Algorithm,
    Cpu,
    Folder,
    Programs,
    Task,
    TrainingPrograms,
    assigned,
    corpus_of,
    env_arguments,
    own_arguments,
    task_name,
    validation_of,
)
from mlcb_gym.envs import environments

if TYPE_CHECKING:
    from mlcb_gym.evaluation.report import Evaluation
    from mlcb_gym.evaluation.run_time import LoopEvaluation

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Machine learning inside an unmodified LLVM 22.", rich_markup_mode="markdown")


@app.command("list")
def list_tasks() -> None:
    """The tasks, their environments and the policies that ship; and what the agents see."""
    from mlcb_gym import spec
    from mlcb_gym.policies import shipped

    console = Console()
    overview = Table("task", "environment", "policy that ships")
    for task, env_id in sorted(environments().items()):
        overview.add_row(task, env_id, str(shipped().get(task, "")))
    console.print(overview)
    for task in sorted(environments()):
        bound = spec.bind(task, {})
        table = Table("agent", "tensor", "dtype", "shape", "meaning", title=f"{task}: {bound.declared['doc']}", title_justify="left")
        for agent in bound.agents:
            for tensor in agent.inputs:
                table.add_row(agent.name, tensor.name, tensor.dtype, str(list(tensor.shape)), tensor.doc)
        console.print(table)


@app.command()
def plugin() -> None:
    """The path of the LLVM plugin."""
    from mlcb_gym import toolchain

    print(toolchain.plugin())


@app.command("clang-config")
def clang_config(
    policies: Annotated[list[Path], typer.Argument(help="policy folders or compiled policies, each for another task")],
    output: Annotated[Path, typer.Option("--output", "-o", help="the file to write")] = Path("mlcb.cfg"),
    guard: Annotated[bool, typer.Option(help="keep LLVM's own module where that is smaller, and registers where they cost less")] = False,
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

    env_id = environments()[task]
    check_compiler_env(gymnasium.make(env_id))
    print(f"{env_id}: conforms")


@app.command()
def train(
    task: Task,
    output: Annotated[Path, typer.Option("--output", "-o", help="folder of checkpoints and curves")],
    algo: Annotated[Algorithm | None, typer.Option(help="whose recipe; by default the one that suits the task")] = None,
    programs: TrainingPrograms = None,
    validation: Annotated[
        list[str] | None, typer.Option(help="what the best checkpoint is chosen by: of a corpus's train split its validation split; repeatable")
    ] = None,
    minutes: Annotated[float, typer.Option(help="wall time, after which the update under way and a last validation are brought to their end")] = 60.0,
    iterations: Annotated[int, typer.Option(help="updates of the policy at most")] = 100_000,
    seed: int = 1,
    max_steps: Annotated[int, typer.Option(help="posetrl: decisions in an episode at most")] = 10,
    actions: Annotated[str, typer.Option(help="posetrl: a list that ships, or a file")] = "default",
    start: Annotated[str, typer.Option(help="posetrl: unoptimized or Oz")] = "unoptimized",
    env: Annotated[list[str] | None, typer.Option("--env", help="an argument of the environment, as embedding=symbolic")] = None,
    decisions: Annotated[list[Path] | None, typer.Option(help="start from what `mlcb search` found; repeatable")] = None,
    clone: Annotated[bool, typer.Option(help="start from the compiler's own heuristic")] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a hyperparameter, as lr=1e-4 or network.hidden=[128,128]")] = None,
    resume: Annotated[bool, typer.Option(help="go on from the last checkpoint in OUTPUT")] = False,
) -> None:
    """Train a policy with RLlib."""
    from mlcb_gym.corpus.programs import resolve
    from mlcb_gym.training.environment import Environment
    from mlcb_gym.training.imitation.behavioural_cloning import clone_heuristic
    from mlcb_gym.training.imitation.distill import warm_start
    from mlcb_gym.training.run import DEFAULT_RECIPES, recipe
    from mlcb_gym.training.train import Budget, train

    if decisions and clone:
        raise typer.BadParameter("--decisions and --clone: expected one of them")
    programs = programs or [f"{corpus_of(task)}/train"]
    judges = resolve(validation or validation_of(programs))
    arguments = {"programs": programs} | own_arguments(task, actions=actions, max_steps=max_steps, start=start) | env_arguments(task, env)
    environment = Environment(environments()[task], arguments)
    try:
        chosen = recipe(algo.value if algo else DEFAULT_RECIPES.get(task, "ppo"), {"seed": seed} | assigned(set_ or []))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    weights = None
    if decisions and not resume:
        weights = warm_start(environment, chosen, *decisions)
    elif clone and not resume:
        weights = clone_heuristic(environment, chosen)
    budget = Budget(iterations=iterations, seconds=60 * minutes)
    best = train(environment, recipe=chosen, validation=judges, output=output, budget=budget, resume=resume, weights=weights)
    print(f"best checkpoint: {best}")


@app.command()
def search(
    output: Annotated[Path, typer.Option("--output", "-o", help="folder of decisions")],
    task: Annotated[str, typer.Argument(help="a task, as `mlcb list` names them", parser=task_name, metavar="[TASK]")] = "posetrl",
    programs: TrainingPrograms = None,
    max_steps: Annotated[int, typer.Option(help="posetrl: decisions in an episode at most")] = 10,
    actions: Annotated[str, typer.Option(help="posetrl: a list that ships, or a file")] = "default",
    env: Annotated[list[str] | None, typer.Option("--env", help="an argument of the environment, as reward=object")] = None,
    policy: Annotated[Path | None, typer.Option(help="inliner, eviction: whose decisions are looked into; by default the heuristic's")] = None,
    decisions: Annotated[int, typer.Option(min=1, help="inliner, eviction: how many decisions of a program, drawn at random")] = 12,
    improve: Annotated[bool, typer.Option(help="inliner, eviction: look into all, and go on with the better answer")] = False,
    sequences: Annotated[int, typer.Option(min=2, help="loop_distribution: sequences of answers tried of a program at most")] = 256,
) -> None:
    """Fork the compiler at decisions: what every action leads to, for `mlcb train --decisions`."""
    from rich.progress import track

    from mlcb_gym.envs import env_class
    from mlcb_gym.search.decisions import search_all
    from mlcb_gym.search.strategies import search_in

    own = own_arguments(task, actions=actions, max_steps=max_steps)
    arguments = {"programs": programs or [f"{corpus_of(task)}/train"]} | own | env_arguments(task, env)
    with closing(env_class(task)(**arguments)) as made:
        failed = 0
        search_program = search_in(made, policy=policy, decisions=decisions, improve_all=improve, sequences=sequences)
        for found in track(search_all(search_program, made.programs, output), total=len(made.programs)):
            if found.error is not None:
                failed += 1
                print(f"{found.program}: {found.error}", file=sys.stderr)
    if failed == len(made.programs):
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
    from mlcb_gym.search.fixed_sequences import find_baselines

    find_baselines(decisions, programs, actions=actions).write(output)


@app.command()
def export(
    checkpoint: Annotated[Path, typer.Argument(help="a checkpoint, as RUN/best")],
    folder: Folder,
    programs: Annotated[str | None, typer.Option(help="what the decisions are compared on: embedded/validation, of loops loops/validation")] = None,
    aot: Annotated[bool, typer.Option(help="compile it too, to policy.so in FOLDER")] = False,
    cpu: Cpu = None,
) -> None:
    """Write a policy folder from a checkpoint, and check that every runtime decides alike."""
    from mlcb_gym.export.aot import COMPILED, compile_policy
    from mlcb_gym.export.export import export_policy
    from mlcb_gym.export.parity import check_parity
    from mlcb_gym.onnx.manifest import read_manifest

    task = read_manifest(export_policy(checkpoint, folder))["task"]
    compiled = compile_policy(folder, folder / COMPILED, cpu=cpu) if aot else None
    print(check_parity(checkpoint, folder, programs or f"{CORPUS.get(task, 'embedded')}/validation", compiled=compiled))


@app.command("aot")
def compile_ahead(
    folder: Folder,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the file to write; policy.so in FOLDER")] = None,
    cpu: Cpu = None,
) -> None:
    """Compile a policy ahead of time: one file, `aot:policy.so`, that needs no ONNX Runtime."""
    from mlcb_gym.export.aot import COMPILED, compile_policy

    print(f"aot:{compile_policy(folder, output or folder / COMPILED, cpu=cpu).resolve()}")


@app.command()
def evaluate(
    task: Task,
    policy: Annotated[Path | None, typer.Option(help="a policy folder; by default the one that ships")] = None,
    split: Annotated[str, typer.Option(help="split of the task's corpus, unless PROGRAMS are given")] = "test",
    programs: Annotated[list[str] | None, typer.Option(help="any programs; repeatable")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="gets evaluation.json and evaluation.png")] = Path("evaluation"),
    best_of: Annotated[
        list[int] | None,
        typer.Option(min=1, help="of how many random episodes, and sequences of the coreset, to take the best: 1 and 10; repeatable"),
    ] = None,
    search: Annotated[bool, typer.Option(help="inliner: what a search of each program for itself finds, too")] = False,
    linked: Annotated[str | None, typer.Option(help="inliner: whole programs whose executables are compared, too, as embedded/test")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="loop_distribution: how often every executable is run; 40")] = None,
    seed: int = 1,
) -> None:
    """Compare a policy with the compiler's own heuristic and with what does not learn, program by program."""
    from mlcb_gym.evaluation.allocating import evaluate_allocation
    from mlcb_gym.evaluation.inlining import evaluate_inliner
    from mlcb_gym.evaluation.linked_size import evaluate_linked
    from mlcb_gym.evaluation.report import COUNTS, evaluate_policy
    from mlcb_gym.evaluation.run_time import ROUNDS, evaluate_loops
    from mlcb_gym.onnx.manifest import read_manifest
    from mlcb_gym.policies import shipped

    evaluations: dict[str, Callable[..., Evaluation | LoopEvaluation]] = {
        "posetrl": evaluate_policy,
        "inliner": partial(evaluate_inliner, search=search),
        "eviction": evaluate_allocation,
        "priority": evaluate_allocation,
        "loop_distribution": partial(evaluate_loops, rounds=rounds or ROUNDS),
    }
    folder = policy or shipped().get(task)
    if folder is None:
        raise errors.PolicyError(f"{task}: no policy ships, expected --policy FOLDER")
    if (decides := read_manifest(folder)["task"]) != task:
        raise errors.PolicyError(f"{folder}: a policy for {decides}, expected one for {task}")
    if task not in evaluations:
        raise errors.TaskError(f"{task}: no evaluation yet, expected one of {', '.join(evaluations)}")
    evaluation = evaluations[task](folder, programs or f"{corpus_of(task)}/{split}", counts=best_of or COUNTS, seed=seed)
    evaluation.write(output)
    Console(width=max(Console().width, TABLE_WIDTH)).print(evaluation.table())
    if linked:
        sizes = evaluate_linked(folder, linked)
        print(f"linked, {sizes.programs} programs: size / -Oz {sizes.mean:.4f} ({sizes.by_program})")


@app.command()
def serve(
    uri: Annotated[str, typer.Argument(help="grpc://HOST:PORT; beyond loopback with cert=FILE, key=FILE and token=FILE")] = "grpc://127.0.0.1:0",
    workers: Annotated[int, typer.Option(min=1, help="sessions at most; more wait")] = os.cpu_count() or 1,
) -> None:
    """Lend this machine's compilers: each session that comes over gRPC gets a worker of its own."""
    from mlcb_gym.session.relay import Relay

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), Relay(uri, workers=workers) as relay:
        print(f"grpc://{relay.address}", flush=True)
        while True:
            relay.serve()


def _add_groups() -> None:
    from mlcb_gym.cli import actions, corpus, log, vocabulary

    app.add_typer(corpus.app, name="corpus")
    app.add_typer(vocabulary.app, name="vocab")
    app.add_typer(actions.app, name="actions")
    app.add_typer(log.app, name="log")


def main() -> None:
    """Runs the command; what the package reports by raising is one line and exit code 1."""
    _add_groups()
    from mlcb_gym._native import NativeError

    try:
        app()
    except (errors.MlcbError, NativeError) as error:
        print(f"mlcb: {error}", file=sys.stderr)
        sys.exit(1)
