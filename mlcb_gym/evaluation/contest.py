# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All ways to split the loops of one program: the fastest is found by trying, then every method is timed anew."""

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
"""How many of all that was tried are timed once more before the fastest is named."""

Flags = tuple[str, ...]


@dataclass(frozen=True)
class Bounds:
    """How much is tried for the optimum.

    Args:
        cuts: ways to cut at most, the nodes in their order; where there are more, so many are drawn.
        orders: drawn orders of the nodes, each with drawn cuts.
    """

    cuts: int = 64
    orders: int = 32


@dataclass(frozen=True)
class Tried:
    """What the optimum of a program is the best of.

    Args:
        nodes: of its largest loop; 0 where no loop can be split.
        cuts: how many, each for all loops at once.
        orders: how many were drawn.
        executables: how many different ones came of it.
    """

    nodes: int
    cuts: int
    orders: int
    executables: int

    @property
    def all_cuts(self) -> bool:
        """Whether there are no others."""
        return self.cuts == ways_to_cut(self.nodes)


def ways_to_cut(nodes: int) -> int:
    """A loop whose nodes keep their order, none among them."""
    return 2 ** max(nodes - 1, 0)


class Contest:
    """The executables of one program by every method.

    Args:
        folder: where they lie.
        config: of clang, that makes it ask the policy.
        random: how many random ways to split are methods.

    Raises:
        ProgramError: the program does not build, or prints other than at ``-O0``.
        CompilerError: never split, it differs from what clang makes of it.
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
        """Of every method. What is the fastest of several was found so in other runs.

        Args:
            rounds: how often every executable is started.
            counts: of how many random ways to split the fastest is one, too.
        """
        known, again = self._known(rounds)
        fastest = {f"random, best of {count}": min(self._drawn[:count], key=known.__getitem__) for count in counts if count > 1}
        fastest[OPTIMUM] = min(again, key=again.__getitem__)
        methods = {BASELINE: self._methods[BASELINE], AGAIN: self._copy(), **self._methods, **fastest}
        drawn = self._drawn[: self._random]
        taken = self._executables.time([*methods.values(), *drawn], rounds, self._rng)
        mean = {f"random, mean of {len(drawn)}": geomean([taken[path] for path in drawn])}
        own = {method: taken[path] for method, path in methods.items()}
        return {**own, **mean, OPTIMUM: own.pop(OPTIMUM)}

    def _known(self, rounds: int) -> tuple[dict[Path, float], dict[Path, float]]:
        """The seconds of all ways to split; and those of the finalists, by other runs and more of them."""
        known = self._executables.time(self._legal, max(rounds // 4, 1), self._rng)
        finalists = sorted(known, key=known.__getitem__)[:FINALISTS]
        return known, self._executables.time(finalists, rounds, self._rng)

    def _copy(self) -> Path:
        return Path(shutil.copy(self._methods[BASELINE], self._folder / "again"))

    def _build(self, flags: Mapping[str, Flags]) -> dict[str, Path]:
        return dict(zip(flags, self._executables.build([(BASELINE, *own) for own in flags.values()]), strict=True))

    def _nodes(self) -> int:
        """Of the largest loop that can be split."""
        record = self._folder / "loops.yaml"
        record.touch()
        self._build({ALWAYS: (*_answer(ALWAYS), f"-foptimization-record-file={record}", "-foptimization-record-passes=mlcb-loop")})
        return max(map(int, re.findall(r"Nodes: +'(\d+)'", record.read_text())), default=0)


def _answer(text: str) -> Flags:
    return (f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-loops={text}")


def _masks(nodes: int, cuts: int, seed: int) -> Sequence[int]:
    """At most ``cuts``, with that of ``NEVER`` and that of ``ALWAYS``, which are left out."""
    others = range(1, ways_to_cut(nodes) - 1)
    return others if len(others) + 2 <= cuts else random.Random(seed).sample(others, cuts - 2)
