# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb vocab``: the vocabularies of embeddings, trained anew."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mlcb_gym import atomic
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.tools.vocabulary import TransE, as_json, count_machine_triplets, count_triplets, entities, fit, frequent, ir_sections

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
    if of == "ir":
        counts, names = count_triplets(modules, jobs=jobs), entities(modules[0])
        sections = ir_sections(names)
    else:
        opcodes, operands, counts = frequent(count_machine_triplets(modules, jobs=jobs), least)
        names, sections = [*opcodes, *operands], {"Opcodes": 0, "Operands": len(opcodes)}
    typer.echo(f"{counts.total()} triplets of {len(modules)} modules, {len(counts)} distinct")
    config = TransE(dimension=dimension or DIMENSIONS[of], seed=seed)
    output = output or Path("ir2vec.json" if of == "ir" else "mir.json")
    atomic.write(output, as_json(sections, names, fit(counts, len(names), config)))
    typer.echo(f"{output}: {len(names)} vectors of {config.dimension}")
