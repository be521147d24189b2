# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile modules by clang in several ways, in turns, and print what each makes of them and what it costs."""

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.evaluation.statistics import estimate
from mlcb_gym.session.objects import loaded_sections
from scripts.projects.recipe import CODE, FUNCTIONS, PASSES, Way

STOCK = Way("-Oz")
BOTH = (*PASSES[:1], *CODE)
WAYS = (
    STOCK,
    Way("-Oz", again=True),
    Way("-Oz", PASSES[:1]),
    Way("-Oz", PASSES[:1], guard=True),
    Way("-Oz", PASSES[:1], candidates=4),
    Way("-Oz", CODE),
    Way("-Oz", CODE, guard=True),
    Way("-Oz", CODE, candidates=3),
    Way("-Oz", BOTH, guard=True),
    Way("-Oz", BOTH, candidates=1),
    Way("-Oz", BOTH, candidates=3),
    Way("-Oz", FUNCTIONS),
    Way("-Oz", FUNCTIONS, guard=True),
    Way("-Oz", FUNCTIONS, candidates=3),
    Way("-Oz", (*FUNCTIONS, *CODE), candidates=3),
)
SECONDS = 600.0


@dataclass(frozen=True)
class Made:
    """Of an object: bytes of what is loaded, and of code; and the processor time of the compiler [s]."""

    size: int
    text: int
    cpu: float


def compile_(program: Program, flags: Sequence[str], target: Path) -> Made:
    """Compile a module."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command: list[str | Path] = [toolchain.tool("clang"), *flags, "-w", "-x", "ir", "-c", program.bitcode, "-o", target]
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    sections = loaded_sections(target)
    text = sum(size for name, size in sections.items() if name.startswith(".text"))
    return Made(sum(sections.values()), text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> int:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", help="programs, as of `mlcb evaluate --programs`")
    parser.add_argument("--sample", type=int, help="so many of them, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="TEXT", help="stock, and ways with this in their names")
    given = parser.parse_args()
    ways = [way for way in WAYS if not way.tasks or given.only in way.name]
    programs = [program for uri in given.programs for program in resolve(uri)]
    drawn = np.random.default_rng(given.seed).permutation(len(programs))[: given.sample]
    made: dict[Way, list[Made]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory(prefix="mlcb-") as name:
        folders = {way: Path(name) / str(number) for number, way in enumerate(ways)}
        for folder in folders.values():
            folder.mkdir()
        flags = {way: way.flags(folder).split() for way, folder in folders.items()}
        for index in drawn:
            for way in ways:
                made[way].append(compile_(programs[index], flags[way], folders[way] / "module.o"))
    print(f"| {len(drawn)} modules | size / -Oz | by project | .text / -Oz | largest | CPU / stock |", "|---|---|---|---|---|---|", sep="\n")
    projects = [programs[index].project for index in drawn]
    for way in ways:
        print(row(way, made[way], made[STOCK], projects))
    return 0


def row(way: Way, made: Sequence[Made], stock: Sequence[Made], projects: Sequence[str]) -> str:
    """Return the row of a way."""
    pairs = list(zip(made, stock, strict=True))
    sizes = [own.size / other.size for own, other in pairs]
    texts = [own.text / other.text for own, other in pairs if other.text]
    size, text = estimate(sizes, projects), np.exp(np.mean(np.log(texts)))
    cpu = sum(own.cpu for own in made) / sum(other.cpu for other in stock)
    return f"| {way.name} | {size.mean:.4f} | {size.by_project} | {text:.4f} | {max(sizes):.3f} | {cpu:.2f} |"


if __name__ == "__main__":
    sys.exit(main())
