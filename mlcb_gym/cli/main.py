# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ``mlcb`` command: its groups, and the commands about tasks and compilers."""

import os
import re
import signal
import sys
from contextlib import suppress
from importlib.metadata import requires
from typing import Annotated, NoReturn

import typer

from mlcb_gym import __version__, errors
from mlcb_gym.cli import actions, corpus, demo, doctor, evaluate, export, log, new_task, recipes, report, search, sweep, train, vocabulary
from mlcb_gym.cli.shared_options import Task, task_name
from mlcb_gym.cli.tables import servers_table, tasks_table, tensors_table, wide_console
from mlcb_gym.cli.task_options import ANY_OPTION, TaskCommand, environment_table
from mlcb_gym.envs import environments
from mlcb_gym.session.relay import EPISODES, IDLE_SECONDS
from mlcb_gym.session.request import Limits
from mlcb_gym.session.sandbox import Sandbox

NO_THREAD = "can't start new thread"
"""The message of Python's error, which has no class of its own."""


def print_version(wanted: bool) -> None:
    """Print the version of the package and end the command, if it was asked for."""
    if wanted:
        print(f"mlcb_gym {__version__}")
        raise typer.Exit


app = typer.Typer(no_args_is_help=True, help="Machine learning inside an unmodified LLVM 22.", rich_markup_mode="markdown")


@app.callback()
def _command(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=print_version)] = False,
) -> None:
    """Machine learning inside an unmodified LLVM 22."""


@app.command("list")
def list_tasks(
    task: Annotated[str | None, typer.Argument(help="A task, for all of it.", parser=task_name, metavar="[TASK]")] = None,
) -> None:
    """List the tasks, their environments and the policies that ship; of one TASK, its tensors and the arguments of its environment."""
    console = wide_console()
    if task is None:
        console.print(tasks_table())
    else:
        console.print(tensors_table(task))
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
    episodes: Annotated[int, typer.Option(min=1, help="Episodes and clones of a session at once; more are refused.")] = EPISODES,
    idle_seconds: Annotated[float, typer.Option(min=1, help="After which a session that says nothing ends.")] = IDLE_SECONDS,
    cpu_seconds: Annotated[int, typer.Option(min=1, help="CPU time of an episode at most.")] = Limits.cpu_seconds,
    turn_seconds: Annotated[float, typer.Option(min=0.1, help="Time of one turn of the compiler at most.")] = Limits.turn_seconds,
    memory: Annotated[int, typer.Option(min=1, help="Memory of an episode at most, in MiB.")] = Limits.memory_bytes >> 20,
    paths: Annotated[bool, typer.Option("--paths", help="Sessions may name programs by paths of this machine.")] = False,
    run_programs: Annotated[bool, typer.Option("--run-programs", help="Sessions may have programs run and timed.")] = False,
    sandbox: Annotated[Sandbox, typer.Option(help="Of workers: whole, or none starts; what of it the kernel has; or none.")] = Sandbox.WHOLE,
    status: Annotated[bool, typer.Option("--status", help="Show this user's servers on this machine, and start none.")] = False,
) -> None:
    """Lend this machine's compilers: each session over gRPC gets a worker of its own."""
    if status:
        wide_console().print(servers_table())
        return

    from mlcb_gym.session.relay import Relay
    from mlcb_gym.session.worker import Terms

    terms = Terms(Limits(cpu_seconds, turn_seconds, memory << 20), paths, run_programs)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        suppress(KeyboardInterrupt),
        Relay(uri, workers=workers, episodes=episodes, idle_seconds=idle_seconds, terms=terms, sandbox=sandbox) as relay,
    ):
        print(f"grpc://{relay.address}", flush=True)
        while True:
            relay.serve()


for of_task in (train.train, sweep.sweep, search.search, search.baselines):
    app.command(cls=TaskCommand, context_settings=ANY_OPTION)(of_task)
app.command(cls=evaluate.EvaluateCommand, context_settings=ANY_OPTION)(evaluate.evaluate)
for of_policy in (export.export, export.aot, export.clang_config):
    app.command()(of_policy)
app.command()(recipes.recipes)
app.command()(report.report)
app.command()(demo.demo)
app.command()(doctor.doctor)
app.command("new-task")(new_task.new_task)
for name, group in {"corpus": corpus.app, "vocab": vocabulary.app, "actions": actions.app, "log": log.app}.items():
    app.add_typer(group, name=name)


def extra_with(package: str) -> str | None:
    """Return the extra of this package that installs another; None where none does."""
    found = (re.fullmatch(rf"{re.escape(package)}\b.*extra == [\"'](\w+)[\"']", line) for line in requires("mlcb_gym") or ())
    return next((match[1] for match in found if match), None)


def _fail(why: str) -> NoReturn:
    """Ends with one line, in which no name of a stranger's acts on the terminal."""
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in why)
    print(f"mlcb: {shown}", file=sys.stderr)
    sys.exit(1)


def main() -> None:
    """Runs the command; an error of the package, of a file, or a missing extra is one line and exit code 1."""
    from mlcb_gym._native import NativeError

    sys.unraisablehook = lambda _: None  # objects of Ray whose construction failed fail again where they are destroyed
    try:
        app()
    except (errors.MlcbError, NativeError) as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        if (extra := extra_with(error.name or "")) is None:
            raise
        _fail(f"{error.name} is not installed: pip install 'mlcb_gym[{extra}]'")
    except MemoryError:
        _fail("out of memory; what was saved before is whole")
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        _fail(NO_THREAD)
    except OSError as error:  # a file that cannot be read or written
        name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
        _fail(f"{name}: {error.strerror}" if name else str(error))
