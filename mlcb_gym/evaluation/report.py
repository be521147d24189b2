# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The result of an evaluation: ratios of programs by method, as a table, JSON and a plot."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from mlcb_gym import atomic
from mlcb_gym.damaged import reading
from mlcb_gym.errors import TaskError, TrainingError
from mlcb_gym.evaluation.plots import plot_curves, plot_programs
from mlcb_gym.evaluation.statistics import Estimate, Interval, estimate
from mlcb_gym.regular_file import read_regular

POLICY = "policy"
"""The row of the policy that is evaluated."""
COUNTS = (1, 10)
"""The numbers of attempts of which the best is taken, by default."""

SHOWN_FAILURES = 3
"""The number of failures that the remark names; ``evaluation.json`` has all."""

EVALUATION = "evaluation.json"
"""The file of an evaluation in its folder."""

Values = Sequence[float | None]
Estimates = Mapping[str, Estimate | None]


def check_counts(**counts: Sequence[int]) -> None:
    """Raise TaskError where a number of attempts is less than 1."""
    for name, numbers in counts.items():
        if any(number < 1 for number in numbers):
            raise TaskError(f"{name}={', '.join(map(str, numbers))}: expected 1 or more")


@dataclass(kw_only=True)
class Evaluation:
    """Every method on every program: a row for each method, a column for each ratio to the baseline.

    Args:
        policy: the name of the policy.
        programs: their names.
        projects: the project of each program.
        baseline: the method that ratios are to.
        ratios: by column and method, in the order of ``programs``; None where a ratio is not known. The first column is the one that counts.
        seconds: by method, the time of each program; None where it is not known.
        time: the column of the ratios of ``seconds``.
        failures: by method, the program and the reason of each episode that failed; the row has its penalty.
        left_out: programs without a function, which no method can change. They are in no mean.
        pairs: methods that are compared with one another, where both were evaluated.
        optimum: the method that is the best one known. The table then has the part of the gap between baseline and optimum that a method closes.
        margin: the distance from 1 from which on a ratio counts as better or worse.
        verdicts: the names of better and worse.
        conditions: the end of the title.
        notes: lines below the table.
        details: whatever else belongs into the JSON.
        shown: the methods of the plot; by default all.
    """

    policy: str
    programs: list[str]
    projects: list[str]
    baseline: str
    ratios: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)
    seconds: dict[str, list[float | None]] = field(default_factory=dict)
    time: str = "time"
    failures: dict[str, list[str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    pairs: Sequence[tuple[str, str]] = ()
    optimum: str | None = None
    margin: float = 0.0
    verdicts: tuple[str, str] = ("smaller", "larger")
    conditions: str = ""
    notes: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    shown: Sequence[str] = ()

    def add(self, method: str, ratios: Mapping[str, Values], *, seconds: Values = (), failures: Iterable[str] = ()) -> None:
        """Adds a row; a column that ``ratios`` lacks is not known."""
        unknown: Values = [None] * len(self.programs)
        for column in {**self.ratios, **ratios}:
            self.ratios.setdefault(column, {})[method] = list(ratios.get(column, unknown))
        self.seconds[method] = list(seconds or unknown)
        if failed := list(failures):
            self.failures[method] = failed

    @property
    def methods(self) -> list[str]:
        """The rows, in the order in which they were added."""
        return list(self.seconds)

    @property
    def columns(self) -> list[str]:
        """The columns of which anything is known."""
        return [name for name, values in self._values().items() if any(value is not None for row in values.values() for value in row)]

    @property
    def title(self) -> str:
        """The programs that the methods are compared on."""
        return f"{_counted(len(self.programs), 'program')} of {_counted(len(set(self.projects)), 'project')}{self.conditions}"

    @property
    def remark(self) -> str:
        """The programs that are left out, and the episodes that failed, in one line; empty where there are none."""
        said = [f"left out of every mean: {_counted(len(self.left_out), 'program')} without a function"] if self.left_out else []
        if self.failures:
            failed = [failure for each in self.failures.values() for failure in each]
            reasons = list(dict.fromkeys(failed))
            shown = [*reasons[:SHOWN_FAILURES], *(["..."] if len(reasons) > SHOWN_FAILURES else [])]
            said.append(f"failed, and counted with a penalty: {_counted(len(failed), 'episode')} ({'; '.join(shown)})")
        return "; ".join(said)

    @property
    def compared(self) -> list[tuple[str, str]]:
        """The pairs of methods of which both were evaluated."""
        return [(method, other) for method, other in self.pairs if {method, other} <= set(self.methods)]

    def programs_of(self, column: str, method: str, other: str | None = None) -> Values:
        """Return the ratio of a method to another, by default to the baseline, program by program; None where one of the two is not known."""
        values = self._values()[column]
        both = zip(values[method], values[other or self.baseline], strict=True)
        return [None if own is None or others is None else own / others for own, others in both]

    def estimates(self, method: str, other: str | None = None) -> Estimates:
        """Return the geometric mean of each column's ratios of a method to another, by default to the baseline; None where none is known."""
        return {column: self._estimate(self.programs_of(column, method, other)) for column in self.columns}

    def closed(self, method: str) -> float | None:
        """Return the part of the gap between baseline and optimum that a method closes; None where there is no gap."""
        if self.optimum is None:
            return None
        own, best = (self.estimates(name)[self.columns[0]] for name in (method, self.optimum))
        return (1 - own.mean) / (1 - best.mean) if own and best and best.mean < 1 else None

    def table(self) -> Table:
        """Return geometric means with 95 % intervals; the last rows compare methods with one another."""
        first, *others = (f"{column} / {self.baseline}" for column in self.columns)
        headers = [first, "95 % by program", "95 % by project", *others]
        headers += ["LLVM ms"] if self._has_time_beside else []
        headers += ["of the gap"] if self.optimum else []
        table = Table("method", *headers, *self.verdicts, title=self.title, caption="\n".join([*self._legend(), *self.notes]))
        for method in self.methods:
            table.add_row(method, *self._cells(self.estimates(method)), *self._extras(method))
        table.add_section()
        for method, other in self.compared:
            table.add_row(f"{method} / {other}", *self._cells(self.estimates(method, other)))
        return table

    def to_json(self) -> dict[str, Any]:
        """Return everything, and what the table shows: the methods in ``summary``, two with one another in ``paired``."""
        summary = {method: _plain(self.estimates(method)) | self._gap(method) for method in self.methods}
        paired = {f"{method} / {other}": _plain(self.estimates(method, other)) for method, other in self.compared}
        return {"summary": summary, "paired": paired, **asdict(self)}

    @classmethod
    def read(cls, folder: Path) -> "Evaluation":
        """Return the evaluation that ``write`` wrote into a folder.

        Raises:
            TrainingError: it is damaged.
        """
        with reading(folder / EVALUATION, TrainingError, "evaluation", by="`mlcb evaluate`"):
            saved = json.loads(read_regular(folder / EVALUATION))
            read = cls(**{each.name: saved[each.name] for each in fields(cls) if each.name in saved})
            read._check()
        return read

    def write(self, folder: Path) -> None:
        """Writes ``evaluation.json``, and ``evaluation.png``: a curve for each method, or, where an optimum is known, a row for each program."""
        atomic.write(folder / EVALUATION, json.dumps(self.to_json(), indent=1) + "\n")
        self.plot(folder / "evaluation.png")

    def plot(self, path: Path) -> None:
        """Writes the picture of the first column."""
        column, title = self.columns[0], [self.title]
        for method, other in self.compared:
            found = self.estimates(method, other)[column]
            title += [f"{method} / {other}: {found.mean:.4f}" + (f", by project {found.by_project}" if found.by_project else "")] if found else []
        label = f"{column} / {column} of {self.baseline}"
        rows = {self._label(method): self.programs_of(column, method) for method in self.shown or self.methods}
        if self.optimum:
            plot_programs(path, rows, self.programs, best=self._label(self.optimum), title=self.title, label=label)
        else:
            plot_curves(path, rows, emphasised=self._label(POLICY), title=", ".join(title), label=label)

    def _check(self) -> None:
        """Check that every method has a number, or None, of each program in each column; raises what ``reading`` takes for damage."""
        for column, values in self._values().items():
            for method in {*self.methods, self.baseline}:
                if len(values[method]) != len(self.projects) or not all(value is None or value >= 0 for value in values[method]):
                    raise ValueError(f"{column} of {method}: expected a number of each of {len(self.projects)} programs")
        if len(self.programs) != len(self.projects):
            raise ValueError(f"{len(self.programs)} programs, expected {len(self.projects)}, as projects")

    def _values(self) -> dict[str, Mapping[str, Values]]:
        return {**self.ratios, self.time: self.seconds}

    def _estimate(self, ratios: Values) -> Estimate | None:
        known = [(ratio, project) for ratio, project in zip(ratios, self.projects, strict=True) if ratio is not None]
        return estimate(*zip(*known, strict=True)) if known else None

    @property
    def _has_time_beside(self) -> bool:
        return self.time in self.columns[1:]

    def _legend(self) -> list[str]:
        better, worse = self.verdicts
        legend = ["time: LLVM's on the CPU, on passes and observations; LLVM ms: of a program, on average"] if self._has_time_beside else []
        return legend + ([f"{better}, {worse}: programs, by {self.margin:.0%}"] if self.margin else [])

    def _cells(self, estimates: Estimates) -> list[str]:
        """Return the cells from the first column to the last ratio."""
        first, *others = (estimates[column] for column in self.columns)
        cells = ["", "", ""] if first is None else [f"{first.mean:.4f}", _text(first.by_program), _text(first.by_project)]
        digits = [2 if column == self.time else 4 for column in self.columns[1:]]
        return cells + ["" if found is None else f"{found.mean:.{places}f}" for found, places in zip(others, digits, strict=True)]

    def _extras(self, method: str) -> list[str]:
        """Return the cells behind the ratios."""
        known = [seconds for seconds in self.seconds[method] if seconds is not None]
        cells = [f"{1e3 * np.mean(known):.1f}" if known else ""] if self._has_time_beside else []
        if self.optimum:
            closed = self.closed(method)
            cells.append("" if closed is None else f"{closed:.0%}")
        ratios = [ratio for ratio in self.programs_of(self.columns[0], method) if ratio is not None]
        return [*cells, str(sum(r < 1 - self.margin for r in ratios)), str(sum(r > 1 + self.margin for r in ratios))]

    def _gap(self, method: str) -> dict[str, Any]:
        return {"of the gap": self.closed(method)} if self.optimum else {}

    def _label(self, method: str) -> str:
        """Return the legend of a method in a plot: what the table says of it."""
        first, *others = self.columns
        found = self.estimates(method)
        own, time = found[first], found[self.time] if self.time in others else None
        label = f"{method}: {own.mean:.4f}" if own else method
        if self.optimum and own:
            return f"{label} ({own.by_program})" if own.by_program else label
        return label + (f", time {time.mean:.2f}" if time else "")


def _text(interval: Interval | None) -> str:
    return "" if interval is None else str(interval)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plain(estimates: Estimates) -> dict[str, Any]:
    return {column: None if found is None else asdict(found) for column, found in estimates.items()}
