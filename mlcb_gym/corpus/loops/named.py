# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop kernels by name: those of the table, and composed ones by number."""

from collections.abc import Iterator

from mlcb_gym.corpus.corpora import unknown_program
from mlcb_gym.corpus.loops.composer import compose
from mlcb_gym.corpus.loops.kernels import COMPOSED, LOOPS, Kernel, kernels
from mlcb_gym.errors import ProgramError

MOST = 10_000
"""Composed kernels that one name may stand for: each is compiled before anything starts."""


def named(uri: str) -> tuple[Kernel, ...]:
    """Return all kernels of the table (``"loops"``), those of a split (``"loops/train"``), or one (``"loops/train/NAME"``); or composed kernels
    (``"loops/composed/0-99"``, ``"loops/composed/7"``)."""
    _, *rest = uri.strip("/").split("/", 2)
    if rest[:1] == [COMPOSED]:
        return tuple(_composed(uri, "".join(rest[1:])))
    found = tuple(kernel for kernel in kernels() if [kernel.split, kernel.name][: len(rest)] == rest)
    if not found:
        raise unknown_program(uri, LOOPS)
    return found


def _composed(uri: str, seeds: str) -> Iterator[Kernel]:
    first, _, last = seeds.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal() and int(first) <= int(last or first)):
        raise ProgramError(f"{uri}: expected loops/{COMPOSED}/SEED or loops/{COMPOSED}/FIRST-LAST")
    seeds_named = range(int(first), int(last or first) + 1)
    if (count := seeds_named.stop - seeds_named.start) > MOST:
        raise ProgramError(f"{uri}: {count} kernels, expected at most {MOST} at once")
    return map(compose, seeds_named)
