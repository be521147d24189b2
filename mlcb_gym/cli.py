# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `mlcb` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mlcb_gym import errors

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Machine learning inside an unmodified LLVM 22.", rich_markup_mode="markdown")

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
def check(task: Annotated[str, typer.Argument(help="the id of an environment, as PosetRL-v0")]) -> None:
    """Check that an environment keeps Gymnasium's rules and its own."""
    import gymnasium

    from mlcb_gym.testing import check_compiler_env

    check_compiler_env(gymnasium.make(task))
    print(f"{task}: conforms")


def main() -> None:
    """Runs the command; what the package reports by raising is one line and exit code 1."""
    try:
        app()
    except errors.MlcbError as error:
        print(f"mlcb: {error}", file=sys.stderr)
        sys.exit(1)
