# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb vocab``: the vocabularies of embeddings, trained anew."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from mlcb_gym import atomic
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.tools.vocabulary import TransE, as_json, count_machine_triplets, count_triplets, entities, fit, frequent, sections_as_json

DIMENSIONS = {"ir": TransE.dimension, "machine": 100}

app = typer.Typer(help="Vocabularies of embeddings.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Vocabularies of embeddings."""


@app.command()
def train(
    output: Annotated[Path | None, typer.Argument(help="The JSON file to write; ir2vec.json or mir.json by default.")] = None,
    of: Annotated[
        Literal["ir", "machine"],
        typer.Option(help="ir: LLVM IR, as IR2Vec has it, before and after -Oz; machine: x86-64 instructions of -O2, before their registers."),
    ] = "ir",
    programs: Annotated[list[str] | None, typer.Option(help="Programs to learn from.")] = None,
    dimension: Annotated[int | None, typer.Option(help="Length of the vectors; 300 for ir, 100 for machine by default.")] = None,
    least: Annotated[int, typer.Option(min=1, help="How often an opcode of a machine must occur, to have a vector.")] = 20,
    seed: Annotated[int, typer.Option(help="Same seed, same programs: same vocabulary.")] = TransE.seed,
    jobs: Annotated[int, typer.Option(min=1, help="Modules read at once.")] = 2,
) -> None:
    """Train a vocabulary on what stands beside what in programs."""
    modules = [program.bitcode for program in resolve(programs or ["default/train", "embedded/train"])]
    config = TransE(dimension=dimension or DIMENSIONS[of], seed=seed)
    text = (_of_ir if of == "ir" else _of_machine)(modules, config, jobs, least)
    output = output or Path("ir2vec.json" if of == "ir" else "mir.json")
    atomic.write(output, text)
    typer.echo(f"{output}: vectors of {config.dimension}")


def _of_ir(modules: Sequence[Path], config: TransE, jobs: int, _least: int) -> str:
    counts = count_triplets(modules, jobs=jobs)
    names = entities(modules[0])
    _say(counts.total(), len(modules), len(counts), len(names))
    return as_json(names, fit(counts, len(names), config))


def _of_machine(modules: Sequence[Path], config: TransE, jobs: int, least: int) -> str:
    opcodes, operands, counts = frequent(count_machine_triplets(modules, jobs=jobs), least)
    names = [*opcodes, *operands]
    _say(counts.total(), len(modules), len(counts), len(names))
    return sections_as_json({"Opcodes": 0, "Operands": len(opcodes)}, names, fit(counts, len(names), config))


def _say(triplets: int, modules: int, distinct: int, entities: int) -> None:
    typer.echo(f"{triplets} triplets of {modules} modules, {distinct} distinct, of {entities} entities")
