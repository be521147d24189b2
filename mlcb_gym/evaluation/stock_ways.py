# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ways to use stock LLVM that need no policy: the sizes of modules by ``opt`` and ``llc``, against its usual way."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.record import StockWay
from mlcb_gym.session.objects import object_metrics
from mlcb_gym.toolchain import tool

Ratios = Mapping[str, list[float | None]]
"""By metric, of each program; None where the way is not for it."""


def evaluate_stock(ways: Mapping[str, StockWay], programs: Sequence[Program], metrics: Sequence[str]) -> dict[str, Ratios]:
    """Return the ratios of each way to ``StockWay()``, by its name.

    Args:
        metrics: of ``size`` and ``text``.

    Raises:
        ProgramError: a program does not compile.
    """
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        measured = list(pool.map(partial(_ratios, list(ways.values()), metrics), programs))
    return {name: {metric: [found[index].get(metric) for found in measured] for metric in metrics} for index, name in enumerate(ways)}


def _ratios(ways: Sequence[StockWay], metrics: Sequence[str], program: Program) -> list[dict[str, float]]:
    """Return the ratios of a program by every way, by metric; none by a way that is not for it."""
    optimized = cache(partial(_optimized, program))
    usual = _measured(StockWay(), program, optimized, metrics)
    return [{m: own / usual[m] for m, own in _measured(way, program, optimized, metrics).items() if usual[m]} for way in ways]


def _optimized(program: Program, passes: str) -> bytes:
    return run((tool("opt"), f"-passes={passes}", program.bitcode, "-o", "-"), subject=program.name)


def _measured(way: StockWay, program: Program, optimized: Callable[[str], bytes], metrics: Sequence[str]) -> dict[str, float]:
    if way.of_programs and not _has_main(program):
        return {}
    with tempfile.TemporaryDirectory(prefix="mlcb-") as folder:
        made = Path(folder) / "module.o"
        llc = tool("llc")
        run((llc, "-filetype=obj", "-relocation-model=pic", *way.code, "-", "-o", made), subject=program.name, stdin=optimized(way.passes))
        return object_metrics(made, metrics)


def _has_main(program: Program) -> bool:
    defined = run((tool("llvm-nm"), "--defined-only", "--format=just-symbols", program.bitcode), subject=program.name)
    return b"main" in defined.split()
