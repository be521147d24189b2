# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile the programs that ship for other targets, run them under qemu, and print how large they are beside stock's."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.rollout.trace import geomean
from mlcb_gym.session.objects import object_size
from scripts.projects.recipe import ALLOCATION, CODE, FUNCTIONS, PASSES, Way

TARGETS = {"aarch64-linux-gnu": "qemu-aarch64", "riscv64-linux-gnu": "qemu-riscv64"}
"""The program that runs each."""
PACKAGES = "qemu-user gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu"
"""What has them, and the C libraries of the targets, in Debian."""

STOCK = Way("-Oz")
WAYS = (
    Way("-Oz", PASSES[:1]),
    Way("-Oz", PASSES[:1], candidates=3),
    Way("-Oz", CODE),
    Way("-Oz", CODE, guard=True),
    Way("-Oz", CODE, candidates=3),
    Way("-Oz", FUNCTIONS),
    Way("-Oz", FUNCTIONS, guard=True),
    Way("-Oz", (*FUNCTIONS, *CODE), candidates=3),
    Way("-Oz", (*PASSES, *CODE, *ALLOCATION)),
    Way("-Oz", (*PASSES, *CODE, *ALLOCATION), guard=True),
)
SECONDS = 300.0


@dataclass(frozen=True)
class Built:
    """The bytes of a program's object that are loaded, and the output of the program."""

    size: int
    output: bytes


def build(program: Path, target: str, way: Way, folder: Path) -> Built:
    """Compile a program of one file, link it, and run it."""
    compiler: list[str | Path] = [toolchain.tool("clang"), f"--target={target}", *way.flags(folder).split(), "-w"]
    commands: tuple[list[str | Path], ...] = (
        [*compiler, "-c", program, "-o", folder / "program.o"],
        [*compiler, "-fuse-ld=lld", "-static", folder / "program.o", "-o", folder / "program"],
        [TARGETS[target], folder / "program"],
    )
    *_, ran = (subprocess.run(command, check=True, capture_output=True, timeout=SECONDS) for command in commands)
    return Built(object_size(folder / "program.o"), ran.stdout)


def rows(programs: Sequence[Path], folder: Path) -> Iterator[tuple[str, list[float]]]:
    """Yield each way, and for each target the geometric mean of its sizes beside stock's.

    Raises:
        ValueError: a program prints something else than stock's.
    """
    stock = {(target, program): build(program, target, STOCK, folder) for target in TARGETS for program in programs}
    for way in WAYS:
        means = []
        for target in TARGETS:
            made = {program: build(program, target, way, folder) for program in programs}
            if wrong := [program.stem for program, built in made.items() if built.output != stock[target, program].output]:
                raise ValueError(f"{target}, {way.name}: {', '.join(wrong)}: expected stock's output")
            means.append(geomean([built.size / stock[target, program].size for program, built in made.items()]))
        yield way.name, means


def main() -> int:
    """Print a table in Markdown."""
    if missing := [name for target, runs in TARGETS.items() for name in (f"{target}-gcc", runs) if shutil.which(name) is None]:
        print(f"{', '.join(missing)}: not found, expected Debian's packages {PACKAGES}", file=sys.stderr)
        return 1
    programs = [program for split in ("train", "validation", "test") for program in corpora.embedded(f"embedded/{split}")]
    print(f"| size / -Oz, {len(programs)} programs | {' | '.join(TARGETS)} |", "|---|" + "---|" * len(TARGETS), sep="\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="mlcb-") as folder:
        for name, means in rows(programs, Path(folder)):
            print(f"| {name} | {' | '.join(f'{mean:.4f}' for mean in means)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
