# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables that clang makes of a program, one for each set of flags, and their run times."""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import count
from pathlib import Path

import numpy as np

from mlcb_gym.corpus import bitcode
from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.compile_flags import flags_of
from mlcb_gym.corpus.programs import Program
from mlcb_gym.corpus.registry import corpus_of, source_of
from mlcb_gym.errors import ProgramError
from mlcb_gym.evaluation.linked_size import LIBRARIES
from mlcb_gym.toolchain import tool

COMMON = ("-w", "-ffp-contract=off")
"""Flags of every build: sums of floats are the same to the bit at every level."""
GROUPS = 5
"""The groups of runs in one process of a program that times itself; the fastest one counts."""
QUARTILE = 0.25
"""The quantile of the processes' times that counts: by its place in memory a process is fast for once, or slow. On 24 kernels the least of 24
processes differed from itself by 5 % (root mean square), the median by 2 %, this by 0.3 %."""
SECONDS = 120.0
"""The limit of one process."""


class Executables:
    """The executables of one program; equal objects are one executable. Each must print the output of ``-O0``.

    Args:
        program: a program whose ``main`` needs no arguments. Of one that does not time itself the whole process is timed.
        folder: the folder of the executables.

    Raises:
        ProgramError: it does not compile or link, it fails, or it prints something else.
    """

    def __init__(self, program: Program, folder: Path) -> None:
        self._program, self._folder, self._names = program, folder, count()
        corpus = corpus_of(program.uri)
        self._times_itself = corpus is not None and corpus.times_itself
        self._source = source_of(program, folder).absolute()
        self._flags = flags_of(self._source, (program.root or self._source.parent).absolute()) if self._source.suffix in bitcode.SOURCES else ()
        (plain,) = self.build([("-O0",)])
        self._expected = run((plain,), subject=program.name, seconds=SECONDS)

    def build(self, ways: Sequence[Sequence[str]]) -> list[Path]:
        """Return the executable for each set of flags; several are built at a time."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(self._compile, ways))
            distinct = list(dict.fromkeys(objects))
            linked = dict(zip(distinct, pool.map(self._link, distinct), strict=True))
        return [linked[made] for made in objects]

    def time(self, executables: Iterable[Path], rounds: int, rng: np.random.Generator) -> dict[Path, float]:
        """Return the seconds of each, by ``QUARTILE``: all are run in every round, in a new order."""
        times: dict[Path, list[float]] = {path: [] for path in executables}
        paths = list(times)
        for _ in range(rounds):
            for index in rng.permutation(len(paths)):
                times[paths[index]].append(self._seconds(paths[index]))
        return {path: float(np.quantile(own, QUARTILE)) for path, own in times.items()}

    def _compile(self, flags: Sequence[str]) -> Path:
        unnamed = self._folder / f"{next(self._names)}.unnamed"
        compiler = tool(bitcode.SOURCES.get(self._source.suffix, "clang"))
        command: tuple[str | Path, ...] = (compiler, *COMMON, *self._flags, *flags, "-c", self._source, "-o", unnamed.absolute())
        run(command, subject=self._program.name, folder=self._source.parent)
        return unnamed.replace(self._folder / f"{sha256(unnamed.read_bytes()).hexdigest()}.o")

    def _link(self, compiled: Path) -> Path:
        run((tool("clang++"), compiled, *LIBRARIES, "-o", compiled.with_suffix("")), subject=self._program.name)
        return compiled.with_suffix("")

    def _seconds(self, executable: Path) -> float:
        arguments = (str(GROUPS),) if self._times_itself else ()
        started = time.perf_counter()
        printed = run((executable, *arguments), subject=self._program.name, seconds=SECONDS)
        seconds = time.perf_counter() - started
        if self._times_itself:
            printed, _, told = printed.rstrip().rpartition(b" ")
            printed, seconds = printed + b"\n", float(told)
        if printed != self._expected:
            raise ProgramError(f"{self._program.name}: prints {_shown(printed)}, expected {_shown(self._expected)} as at -O0")
        return seconds


def _shown(printed: bytes) -> str:
    return repr(printed[:60].decode(errors="replace"))
