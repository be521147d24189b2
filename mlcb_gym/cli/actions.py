# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb actions``: lists of pipeline texts for phase ordering."""

from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym import atomic
from mlcb_gym.pipelines import OZ
from mlcb_gym.tools.odg import expand, passes, subsequences, without

app = typer.Typer(help="Action lists of phase ordering.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Action lists of phase ordering."""


@app.command()
def odg(
    critical: Annotated[int, typer.Option("-k", help="Neighbours from which on a pass is critical.")] = 6,
    pipeline: Annotated[str, typer.Option(help="The pipeline to cut up.")] = OZ,
    output: Annotated[Path | None, typer.Option("-o", help="The file to write; standard output if none.")] = None,
) -> None:
    """Print the Oz dependence graph's sub-sequences, one action a line."""
    lines = [f"# The Oz dependence graph of LLVM 22's {pipeline}, critical from {critical} neighbours on: mlcb actions odg -k {critical}"]
    text = "\n".join((*lines, *subsequences(passes(expand(pipeline)), critical), "stop")) + "\n"
    if output is None:
        typer.echo(text, nl=False)
    else:
        atomic.write(output, text)


@app.command("without")
def print_without(
    names: Annotated[list[str], typer.Argument(help="The passes to leave out.")],
    pipeline: Annotated[str, typer.Option(help="The pipeline to take them from.")] = OZ,
) -> None:
    """Print a whole pipeline without some of its passes, as one action."""
    typer.echo(without(expand(pipeline), frozenset(names)))
