# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb corpus``: what programs there are, and how those get on disk that do not ship."""

from collections import Counter
from typing import Annotated

import typer

from mlcb_gym.corpus import build as builder
from mlcb_gym.corpus import corpora, programs
from mlcb_gym.corpus import split as splitter

app = typer.Typer(help="Programs: build and list the corpora.", no_args_is_help=True)

Corpus = Annotated[str, typer.Argument(help=f"One of: {', '.join(corpora.BUILT)}.")]
Jobs = Annotated[int, typer.Option(help="Projects at once.")]


@app.command("list")
def list_programs(uri: Annotated[str, typer.Argument(help="A file, a folder, or a corpus, as an environment takes it.")] = "embedded") -> None:
    """Print the programs that a name stands for."""
    for program in programs.resolve(uri):
        typer.echo(f"{program.digest[:12]}  {program.name}")


@app.command()
def build(corpus: Corpus = "default", jobs: Jobs = 2) -> None:
    """Fetch the pinned sources, compile what is not there yet, and check every module against the manifest."""
    for line in builder.build(corpus, jobs=jobs):
        typer.echo(line)
    counts = Counter(module.split for module in corpora.manifest(corpus))
    typer.echo(f"{corpora.folder(corpus)}: " + ", ".join(f"{counts[split]} {split}" for split in corpora.SPLITS))


@app.command()
def split(corpus: Corpus = "default", jobs: Jobs = 2) -> None:
    """Choose the modules of a corpus anew and rewrite its manifest (for maintainers: results on it start over)."""
    for line in splitter.split(corpus, jobs=jobs):
        typer.echo(line)
