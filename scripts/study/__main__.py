# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Play the cells of the study that have no result yet, and write its page."""

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from scripts.study import page
from scripts.study.plan import MINUTES, SEARCH, SEEDS, Cell, cells
from scripts.study.play import Result, play

WORK = Path("build/study")
DEADLINE_SECONDS = 7200.0


def main() -> None:
    """Play cells until all are played, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/study"), help="the folder of the page and of the cells' results")
    parser.add_argument("--hours", type=float, default=12.0, help="no cell begins after these")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of one cell")
    parser.add_argument("--cores", default=",".join(map(str, sorted(os.sched_getaffinity(0)))), help="one cell is played on each at a time")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="cells with this in their names; repeatable")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cell:
        return _play(next(cell for cell in cells() if cell.name == given.cell), given.output, given.minutes)
    wanted = [] if given.page else [cell for cell in cells() if all(text in cell.name for text in given.only)]
    left = Left(wanted, given.output, time.monotonic() + 3600 * given.hours)
    cores = [int(core) for core in given.cores.split(",")]
    with ThreadPoolExecutor(len(cores)) as pool, left:
        list(pool.map(lambda core: _play_on(core, left, given.output, given.minutes), cores))
    page.write(given.output, _results(given.output))


class Left:
    """The cells that are still to be played, for several threads; none once the time is over, or the block that it heads is left."""

    def __init__(self, wanted: Sequence[Cell], output: Path, ends: float) -> None:
        self._cells, self._output, self._ends = [cell for cell in wanted if not _file(output, cell).exists()], output, ends
        self.lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._cells.clear()

    def take(self) -> Cell | None:
        """Return the next one that has all it needs."""
        with self.lock:
            ready = (cell for cell in self._cells if not _waits(self._output, cell))
            cell = next(ready, None) if time.monotonic() < self._ends else None
            if cell:
                self._cells.remove(cell)
            return cell


def _play_on(core: int, left: Left, output: Path, minutes: float) -> None:
    while cell := left.take():
        _begin(cell, core, output, minutes)
        with left.lock:
            page.write(output, _results(output))


def _begin(cell: Cell, core: int, output: Path, minutes: float) -> None:
    """Plays a cell on a core, in a process of its own; one that fails is said, and stays empty."""
    log = WORK / f"{cell.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    study = [sys.executable, "-m", "scripts.study", "--cell", cell.name, "--output", str(output), "--minutes", str(minutes)]
    with log.open("w") as stream:
        try:
            command = ["taskset", "--cpu-list", str(core), *study]
            code: int | str = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, timeout=DEADLINE_SECONDS).returncode
        except subprocess.TimeoutExpired:
            code = f"no end after {DEADLINE_SECONDS:g} s"
    print(f"{cell.name}: {time.monotonic() - started:.0f} s{f', failed ({code}): {log}' if code else ''}", flush=True)


def _play(cell: Cell, output: Path, minutes: float) -> None:
    """Plays one cell. Later seeds have as many updates as the first one, so that they do not depend on what else the machine does."""
    folder = WORK / cell.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    played = _results(output)
    ppo, first = played.get(Cell(cell.task, "PPO", SEEDS[0])), played.get(Cell(cell.task, cell.method, SEEDS[0]))
    compilations = ppo.compilations if ppo else 0
    play(cell, folder, minutes=minutes, compilations=compilations, as_many_as=first).write(_file(output, cell))


def _waits(output: Path, cell: Cell) -> bool:
    """Whether a cell needs the price of another one, which is not played yet."""
    return cell.method == SEARCH and not _file(output, Cell(cell.task, "PPO", SEEDS[0])).exists()


def _results(output: Path) -> dict[Cell, Result]:
    return {cell: Result.read(file) for cell in cells() if (file := _file(output, cell)).exists()}


def _file(output: Path, cell: Cell) -> Path:
    return output / "cells" / f"{cell.name}.json"


if __name__ == "__main__":
    main()
