# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb vocab``: the vocabulary of IR2Vec, trained anew."""

from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym import atomic
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.tools.vocabulary import TransE, as_json, count_triplets, entities, fit

app = typer.Typer(help="IR2Vec vocabularies.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """IR2Vec vocabularies."""


@app.command()
def train(
    output: Annotated[Path, typer.Argument(help="The JSON file to write.")] = Path("ir2vec.json"),
    programs: Annotated[list[str] | None, typer.Option(help="Programs to learn from.")] = None,
    dimension: Annotated[int, typer.Option(help="Length of the vectors.")] = TransE.dimension,
    seed: Annotated[int, typer.Option(help="Same seed, same programs: same vocabulary.")] = TransE.seed,
    jobs: Annotated[int, typer.Option(min=1, help="Modules read at once.")] = 2,
) -> None:
    """Train a vocabulary on programs as they come and as -Oz leaves them."""
    modules = [program.bitcode for program in resolve(programs or ["default/train", "embedded/train"])]
    counts = count_triplets(modules, jobs=jobs)
    typer.echo(f"{counts.total()} triplets of {len(modules)} modules, {len(counts)} distinct")
    names = entities(modules[0])
    vectors = fit(counts, len(names), TransE(dimension=dimension, seed=seed))
    atomic.write(output, as_json(names, vectors))
    typer.echo(f"{output}: {len(names)} vectors of {dimension}")
