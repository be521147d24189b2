# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partitions of the loops of one program: the fastest is found by trying, then every method is timed anew."""

import random
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import Program
from mlcb_gym.errors import CompilerError
from mlcb_gym.evaluation.executables import Executables
from mlcb_gym.evaluation.report import POLICY
from mlcb_gym.rollout.trace import geomean

BASELINE, AGAIN, LLVM = "-O3", "-O3 again", "-O3 -enable-loop-distribute"
ALWAYS, NEVER, OPTIMUM = "always", "never", "optimum"
FINALISTS = 8
"""The number of fastest executables that are timed once more to find the optimum."""

Flags = tuple[str, ...]


@dataclass(frozen=True)
class Bounds:
    """Limits of the search for the optimum.

    Args:
        cuts: partitions at most of the nodes in their order; where there are more, as many are drawn.
        orders: drawn orders of the nodes, each with a drawn partition.
    """

    cuts: int = 64
    orders: int = 32


@dataclass(frozen=True)
class Tried:
    """The partitions of a program that the optimum is the best of.

    Args:
        nodes: the number of nodes of its largest loop; 0 where no loop can be split.
        cuts: the number of partitions of nodes in their order, each for all loops at once.
        orders: the number of drawn orders.
        executables: the number of different executables.
    """

    nodes: int
    cuts: int
    orders: int
    executables: int

    @property
    def all_cuts(self) -> bool:
        """Whether every partition of the nodes in their order was tried."""
        return self.cuts == ways_to_cut(self.nodes)


def ways_to_cut(nodes: int) -> int:
    """Return the number of partitions of a loop whose nodes keep their order, the whole loop included."""
    return 2 ** max(nodes - 1, 0)


class Contest:
    """The executables of one program by every method.

    Args:
        folder: the folder of the executables.
        config: the configuration file that makes clang use the policy.
        random: the number of random partitions that are methods.

    Raises:
        ProgramError: the program does not build, or prints other than at ``-O0``.
        CompilerError: never split, it differs from the output of clang alone.
    """

    def __init__(self, program: Program, folder: Path, *, config: Path, random: int, bounds: Bounds, seed: int) -> None:
        self._folder, self._random, self._seed = folder, random, seed
        self._rng = np.random.default_rng(seed)
        self._executables = Executables(program, folder)
        answers = {POLICY: (f"--config={config}",), NEVER: _answer(NEVER), ALWAYS: _answer(ALWAYS)}
        self._methods = self._build({BASELINE: (), LLVM: ("-mllvm", "-enable-loop-distribute"), **answers})
        if self._methods[NEVER] != self._methods[BASELINE]:
            raise CompilerError(f"{program.name}: never split, it is not what clang {BASELINE} makes of it")
        nodes = self._nodes()
        masks = _masks(nodes, bounds.cuts, seed)
        drawn = max(bounds.orders, random)
        self._drawn = list(self._build({str(i): _answer(f"random={1000 * seed + i}") for i in range(drawn)}).values())
        cut = self._build({str(mask): _answer(f"cuts={mask}") for mask in masks})
        self._legal = sorted({*(self._methods[name] for name in answers), *self._drawn, *cut.values()})
        self.tried = Tried(nodes, min(bounds.cuts, ways_to_cut(nodes)), drawn, len(self._legal))

    def seconds(self, rounds: int, counts: Sequence[int]) -> dict[str, float]:
        """Return the seconds of every method. The fastest of several is found in other runs than those that are returned.

        Args:
            rounds: the number of starts of every executable.
            counts: the numbers of random partitions of which the fastest is a method.
        """
        known, again = self._known(rounds)
        fastest = {f"random, best of {count}": min(self._drawn[:count], key=known.__getitem__) for count in counts if count > 1}
        fastest[OPTIMUM] = min(again, key=again.__getitem__)
        methods = {BASELINE: self._methods[BASELINE], AGAIN: self._copy(), **self._methods, **fastest}
        drawn = self._drawn[: self._random]
        taken = self._executables.time([*methods.values(), *drawn], rounds, self._rng)
        mean = {f"random, mean of {len(drawn)}": geomean([taken[path] for path in drawn])} if drawn else {}
        own = {method: taken[path] for method, path in methods.items()}
        return {**own, **mean, OPTIMUM: own.pop(OPTIMUM)}

    def _known(self, rounds: int) -> tuple[dict[Path, float], dict[Path, float]]:
        """Return the seconds of all partitions; and those of the finalists, in other and more runs."""
        known = self._executables.time(self._legal, max(rounds // 4, 1), self._rng)
        finalists = sorted(known, key=known.__getitem__)[:FINALISTS]
        return known, self._executables.time(finalists, rounds, self._rng)

    def _copy(self) -> Path:
        return Path(shutil.copy(self._methods[BASELINE], self._folder / "again"))

    def _build(self, flags: Mapping[str, Flags]) -> dict[str, Path]:
        return dict(zip(flags, self._executables.build([(BASELINE, *own) for own in flags.values()]), strict=True))

    def _nodes(self) -> int:
        """Return the number of nodes of the largest loop that can be split."""
        record = self._folder / "loops.yaml"
        record.touch()
        self._build({ALWAYS: (*_answer(ALWAYS), f"-foptimization-record-file={record}", "-foptimization-record-passes=mlcb-loop")})
        return max(map(int, re.findall(r"Nodes: +'(\d+)'", record.read_text())), default=0)


def _answer(text: str) -> Flags:
    return (f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-loops={text}")


def _masks(nodes: int, cuts: int, seed: int) -> Sequence[int]:
    """Return the masks of at most ``cuts`` partitions, without those of ``NEVER`` and ``ALWAYS``, which count among them."""
    others = range(1, ways_to_cut(nodes) - 1)
    return others if len(others) + 2 <= cuts else random.Random(seed).sample(others, cuts - 2)
