# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One line of a benchmark, and where it was measured."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """A measured value beside its targets; ``higher`` says which way is better."""

    name: str
    value: float
    unit: str
    must: float | None = None
    aim: float | None = None
    higher: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.must is None:
            return ""
        if self.aim is not None and self._meets(self.aim):
            return "aim met"
        return "must met" if self._meets(self.must) else "MISSED"

    def _meets(self, target: float) -> bool:
        return self.value >= target if self.higher else self.value <= target


def show(title: str, figures: Iterable[Figure]) -> bool:
    """Prints the figures of one benchmark, those before a failure too; whether no must was missed."""
    table = Table("figure", "measured", "must", "aim", "", "note", title=title, title_justify="left")
    missed = False
    try:
        for f in figures:
            targets = ["" if t is None else f"{t:g}" for t in (f.must, f.aim)]
            table.add_row(f.name, f"{f.value:.4g} {f.unit}", *targets, f.verdict, f.note)
            missed |= f.verdict == "MISSED"
    finally:
        Console().print(table)
    return not missed


def resident_megabytes(pid: int | None) -> float:
    """Physical memory of a process itself, its children left out; none of one that has ended and is not yet waited for."""
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = next((line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")), "0")
    return int(kilobytes) / 1024


def cpu() -> str:
    """The name of the processor."""
    return next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "?")


def machine() -> str:
    """The machine, the load on it, and the commit."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    return f"{cpu()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Linux {platform.release()}, commit {commit}"


def refuse_beside_training() -> None:
    """Ends the process if a training runs on this machine: its load would be in every figure."""
    names = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may end now
            names.add((process / "comm").read_text().strip())
    if "raylet" in names:
        sys.exit("benchmarks: a training runs on this machine; end it first")
