# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy that splits loops against what does not learn, by the run time of real executables, beside the best that was found by trying."""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.progress import track
from rich.table import Table

from mlcb_gym.corpus.programs import ProgramsLike, resolve
from mlcb_gym.evaluation.contest import AGAIN, ALWAYS, BASELINE, LLVM, OPTIMUM, Bounds, Contest, Tried
from mlcb_gym.evaluation.executables import GROUPS
from mlcb_gym.evaluation.report import COUNTS, POLICY
from mlcb_gym.evaluation.statistics import Estimate, estimate
from mlcb_gym.export.clang_config import write_clang_config

ROUNDS = 40
NOTICED = 0.01
"""By how much a program must be faster or slower to count as such."""
PAIRS = ((POLICY, LLVM), (POLICY, OPTIMUM))


@dataclass
class LoopEvaluation:
    """The seconds of every program under every method, in the order of ``programs``."""

    policy: str
    programs: list[str]
    projects: list[str]
    rounds: int
    seconds: dict[str, list[float]] = field(default_factory=dict)
    tried: list[Tried] = field(default_factory=list)

    def add(self, seconds: Mapping[str, float], tried: Tried) -> None:
        """The next program."""
        for method, taken in seconds.items():
            self.seconds.setdefault(method, []).append(taken)
        self.tried.append(tried)

    def ratios(self, method: str, other: str = BASELINE) -> list[float]:
        """The run times of a method to those of another, program by program."""
        return [own / others for own, others in zip(self.seconds[method], self.seconds[other], strict=True)]

    def estimate(self, method: str, other: str = BASELINE) -> Estimate:
        """Their geometric mean."""
        return estimate(self.ratios(method, other), self.projects)

    def reached(self, method: str) -> float | None:
        """The part of the way from the baseline to the optimum that a method goes; None where there is no way to go."""
        gap = 1 - self.estimate(OPTIMUM).mean
        return (1 - self.estimate(method).mean) / gap if gap > 0 else None

    def table(self) -> Table:
        """Geometric means with 95 % intervals; the last rows compare methods with one another."""
        columns = (f"run time / {BASELINE}", "95 % by program", "95 % by project", "of the gap", "faster", "slower")
        table = Table("method", *columns, title=self.title, caption=f"{self.bounded}; faster, slower: programs, by {NOTICED:.0%}")
        for method in self.seconds:
            ratios, reached = self.ratios(method), self.reached(method)
            noticed = (sum(r < 1 - NOTICED for r in ratios), sum(r > 1 + NOTICED for r in ratios))
            table.add_row(method, *_cells(self.estimate(method)), "" if reached is None else f"{reached:.0%}", *map(str, noticed))
        table.add_section()
        for method, other in PAIRS:
            table.add_row(f"{method} / {other}", *_cells(self.estimate(method, other)))
        return table

    def to_json(self) -> dict[str, Any]:
        """Everything, and what the table shows of it: in ``summary`` the methods, in ``paired`` two with one another."""
        summary = {method: asdict(self.estimate(method)) | {"reached": self.reached(method)} for method in self.seconds}
        paired = {f"{method} / {other}": asdict(self.estimate(method, other)) for method, other in PAIRS}
        return {"summary": summary, "paired": paired, **asdict(self)}

    def write(self, folder: Path) -> None:
        """Writes ``evaluation.json`` and ``evaluation.png``."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "evaluation.json").write_text(json.dumps(self.to_json(), indent=1) + "\n")
        plot(self, folder / "evaluation.png")

    @property
    def title(self) -> str:
        """What the methods are compared on, and how."""
        of = f"{len(self.programs)} programs of {len(set(self.projects))} projects"
        return f"{of}, each run in {self.rounds} rounds (kernels {GROUPS} groups of runs in each)"

    @property
    def bounded(self) -> str:
        """What the optimum is the best of."""
        some = [tried for tried in self.tried if not tried.all_cuts]
        drawn = f", in {len(some)} programs of {some[0].cuts} drawn ones" if some else ""
        executables = sum(tried.executables for tried in self.tried)
        return (
            f"optimum: the fastest of all cuts{drawn}, the same in all loops of a program, and of {self.tried[0].orders} drawn orders; in all "
            f"{executables} different executables, the fastest timed anew"
        )


def evaluate_loops(
    folder: Path, programs: ProgramsLike, *, counts: Sequence[int] = COUNTS, seed: int = 1, rounds: int = ROUNDS, bounds: Bounds | None = None
) -> LoopEvaluation:
    """Evaluates a policy folder on programs with a ``main``, built by clang with its flag, and timed one after the other.

    Args:
        counts: of how many random ways to split the fastest is taken.
        rounds: how often every executable is started, where a kernel is timed in ``GROUPS`` groups of runs; for the optimum as often again.

    Raises:
        ProgramError: a program does not build, or prints other than at ``-O0``.
        CompilerError: one that is never split differs from what clang makes of it.
    """
    chosen = resolve(programs)
    evaluation = LoopEvaluation(folder.name, [p.name for p in chosen], [p.project for p in chosen], rounds)
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "mlcb.cfg"
        write_clang_config(config, [folder])
        for program in track(chosen, description="programs", transient=True, disable=not sys.stdout.isatty()):
            with tempfile.TemporaryDirectory(dir=name) as own:
                contest = Contest(program, Path(own), config=config, random=max(counts), bounds=bounds or Bounds(), seed=seed)
                evaluation.add(contest.seconds(rounds, counts), contest.tried)
    return evaluation


def _cells(found: Estimate) -> list[str]:
    return [f"{found.mean:.4f}", str(found.by_program), str(found.by_project)]


MARKERS = {AGAIN: ("|", "grey"), LLVM: ("^", "tab:orange"), ALWAYS: ("x", "tab:red"), OPTIMUM: ("D", "tab:green"), POLICY: ("o", "tab:blue")}


def plot(evaluation: LoopEvaluation, path: Path) -> None:
    """A row for each program, those with most to gain on top, and in it its run time by the methods that matter."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    order = sorted(range(len(evaluation.programs)), key=lambda i: -evaluation.ratios(OPTIMUM)[i])
    figure, axes = pyplot.subplots(figsize=(10, 2 + 0.25 * len(order)), layout="constrained")
    for method, (marker, colour) in MARKERS.items():
        ratios, (mean, interval, _) = evaluation.ratios(method), _cells(evaluation.estimate(method))
        axes.scatter([ratios[i] for i in order], range(len(order)), marker=marker, color=colour, label=f"{method}: {mean} ({interval})", zorder=3)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(order)), [evaluation.programs[i] for i in order])
    axes.set(xlabel=f"run time / run time of {BASELINE}, geometric mean and 95 % by program in the legend", xscale="log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.set_title(evaluation.title, fontsize="medium")
    axes.grid(axis="y", linewidth=0.4)
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
