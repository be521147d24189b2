# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time programs whose registers were allocated in several ways, in turns, and print a table in Markdown."""

import argparse
import shutil
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np

from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.evaluation.executables import Executables
from mlcb_gym.evaluation.statistics import estimate
from mlcb_gym.export.clang_config import write_clang_config
from scripts.projects.recipe import ALLOCATION, Way

STOCK, AGAIN, FIRST_USE = "stock", "stock again", "-regalloc-csr-first-time-cost=32768"
WAYS = (Way("-O2", ALLOCATION), Way("-O2", ALLOCATION, candidates=4))


def main() -> int:
    """Print the ratio of each way to stock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", help="programs with a main, as of `mlcb evaluate --programs`")
    parser.add_argument("--policy", type=Path, action="append", default=[], help="a policy folder of one's own, alone and guarded; repeatable")
    parser.add_argument("--rounds", type=int, default=40, help="of all executables of a program")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    programs = [program for uri in given.programs for program in resolve(uri)]
    rng = np.random.default_rng(given.seed)
    with tempfile.TemporaryDirectory(prefix="mlcb-") as name:
        flags = {STOCK: ["-O2"], FIRST_USE: ["-O2", "-mllvm", FIRST_USE]}
        for number, made in enumerate(WAYS):
            (folder := Path(name) / f"way{number}").mkdir()
            flags[made.name] = made.flags(folder).split()
        for policy, guard in product(given.policy, (False, True)):
            label = f"{policy.name}, guarded" if guard else policy.name
            flags[label] = ["-O2", f"--config={write_clang_config(Path(name) / f'{label}.cfg', [policy], guard=guard)}"]
        seconds = [_seconds(program, flags, Path(name) / str(number), given.rounds, rng) for number, program in enumerate(programs)]
    print(f"| {len(programs)} programs | run time / stock | by program | fastest | slowest |", "|---|---|---|---|---|", sep="\n")
    for way in [AGAIN, *list(flags)[1:]]:
        ratios = [own[way] / own[STOCK] for own in seconds]
        mean = estimate(ratios, [program.project for program in programs])
        print(f"| {way} | {mean.mean:.4f} | {mean.by_program} | {min(ratios):.3f} | {max(ratios):.3f} |")
    return 0


def _seconds(program: Program, flags: dict[str, list[str]], folder: Path, rounds: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the seconds of a program in each way; stock twice, the second time as a copy."""
    folder.mkdir()
    executables = Executables(program, folder)
    made = dict(zip(flags, executables.build(list(flags.values())), strict=True))
    made[AGAIN] = Path(shutil.copy(made[STOCK], folder / "again"))
    taken = executables.time(made.values(), rounds, rng)
    return {way: taken[path] for way, path in made.items()}


if __name__ == "__main__":
    sys.exit(main())
