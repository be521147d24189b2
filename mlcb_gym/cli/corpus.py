# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb corpus``: what programs there are, and how those get on disk that do not ship."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym.corpus import build as builder
from mlcb_gym.corpus import compile_commands, corpora, programs
from mlcb_gym.corpus import split as splitter

app = typer.Typer(help="Programs: build and list the corpora.", no_args_is_help=True)

Corpus = Annotated[str, typer.Argument(help=f"One of: {', '.join(corpora.BUILT)}.")]
Jobs = Annotated[int, typer.Option(min=1, help="Projects at once.")]


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


@app.command("from-compile-commands")
def from_compile_commands(
    database: Annotated[Path, typer.Argument(help="The compile_commands.json of a build.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write; then programs=FOLDER.")],
    built: Annotated[bool, typer.Option(help="Take what the build embedded with -Xclang -fembed-bitcode=all.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Compilers at once.")] = 2,
) -> None:
    """Make a corpus of a build's own files, in MLGO's layout: each as clang -Oz has it before its passes."""
    for line in compile_commands.extract(database, output, built=built, jobs=jobs):
        typer.echo(line, err=True)
    typer.echo(f"{output}: {len(programs.resolve(output))} modules")


@app.command()
def split(corpus: Corpus = "default", jobs: Jobs = 2) -> None:
    """Choose the modules of a corpus anew and rewrite its manifest (for maintainers: results on it start over)."""
    for line in splitter.split(corpus, jobs=jobs):
        typer.echo(line)
