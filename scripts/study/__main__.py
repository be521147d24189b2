# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Play the cells of the study that have no result yet, and write its page."""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from scripts.study import page
from scripts.study.plan import MINUTES, SEARCH, SEEDS, Cell, cells
from scripts.study.play import Result, play

WORK = Path("build/study")
DEADLINE_SECONDS = 3600.0


def main() -> None:
    """Play cells until all are played, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/study"), help="the folder of the page and of the cells' results")
    parser.add_argument("--hours", type=float, default=12.0, help="no cell begins after these")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of one cell")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="cells with this in their names; repeatable")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cell:
        return _play(next(cell for cell in cells() if cell.name == given.cell), given.output, given.minutes)
    ends = time.monotonic() + 3600 * given.hours
    for cell in cells():
        wanted = not given.page and all(text in cell.name for text in given.only)
        if not wanted or _file(given.output, cell).exists() or _waits(given.output, cell):
            continue
        if time.monotonic() > ends:
            break
        _begin(cell, given.output, given.minutes)
        page.write(given.output, _results(given.output))
    page.write(given.output, _results(given.output))


def _begin(cell: Cell, output: Path, minutes: float) -> None:
    """Plays a cell in a process of its own; one that fails is said, and stays empty."""
    log = WORK / f"{cell.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "scripts.study", "--cell", cell.name, "--output", str(output), "--minutes", str(minutes)]
    with log.open("w") as stream:
        try:
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
