# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ``mlcb`` command: its groups, and the commands about tasks and compilers."""

import os
import signal
import sys
from contextlib import suppress
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mlcb_gym import errors
from mlcb_gym.cli import actions, corpus, evaluate, export, log, new_task, search, train, vocabulary
from mlcb_gym.cli.shared_options import Task, task_name
from mlcb_gym.cli.task_options import ANY_OPTION, TaskCommand, environment_table
from mlcb_gym.envs import environments

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Machine learning inside an unmodified LLVM 22.", rich_markup_mode="markdown")


@app.command("list")
def list_tasks(
    task: Annotated[str | None, typer.Argument(help="A task, for all of it.", parser=task_name, metavar="[TASK]")] = None,
) -> None:
    """List the tasks, their environments and the policies that ship; and the features of their agents."""
    from mlcb_gym import spec
    from mlcb_gym.policies import shipped

    console = Console()
    chosen = [task] if task else sorted(environments())
    overview = Table("task", "environment", "policy that ships")
    for name in chosen:
        overview.add_row(name, environments()[name], str(shipped().get(name, "")))
    console.print(overview)
    for name in chosen:
        bound = spec.bind(name, {})
        table = Table("agent", "tensor", "dtype", "shape", "meaning", title=f"{name}: {bound.declared['doc']}", title_justify="left")
        for agent in bound.agents:
            for tensor in agent.inputs:
                table.add_row(agent.name, tensor.name, tensor.dtype, str(list(tensor.shape)), tensor.doc)
        console.print(table)
    if task:
        console.print(environment_table(task))


@app.command()
def plugin() -> None:
    """Print the path of the LLVM plugin."""
    from mlcb_gym import toolchain

    print(toolchain.plugin())


@app.command()
def check(task: Task) -> None:
    """Check that an environment keeps Gymnasium's rules and its own."""
    import gymnasium

    from mlcb_gym.testing import check_compiler_env

    env_id = environments()[task]
    check_compiler_env(gymnasium.make(env_id))
    print(f"{env_id}: conforms")


@app.command()
def serve(
    uri: Annotated[str, typer.Argument(help="grpc://HOST:PORT; beyond loopback with cert=FILE, key=FILE and token=FILE.")] = "grpc://127.0.0.1:0",
    workers: Annotated[int, typer.Option(min=1, help="Sessions at most; more wait.")] = os.cpu_count() or 1,
) -> None:
    """Lend this machine's compilers: each session over gRPC gets a worker of its own."""
    from mlcb_gym.session.relay import Relay

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), Relay(uri, workers=workers) as relay:
        print(f"grpc://{relay.address}", flush=True)
        while True:
            relay.serve()


for of_task in (train.train, search.search, search.baselines, evaluate.evaluate):
    app.command(cls=TaskCommand, context_settings=ANY_OPTION)(of_task)
for of_policy in (export.export, export.aot, export.clang_config):
    app.command()(of_policy)
app.command("new-task")(new_task.new_task)
for name, group in {"corpus": corpus.app, "vocab": vocabulary.app, "actions": actions.app, "log": log.app}.items():
    app.add_typer(group, name=name)


def main() -> None:
    """Runs the command; an error that the package raises is one line and exit code 1."""
    from mlcb_gym._native import NativeError

    try:
        app()
    except (errors.MlcbError, NativeError) as error:
        print(f"mlcb: {error}", file=sys.stderr)
        sys.exit(1)
