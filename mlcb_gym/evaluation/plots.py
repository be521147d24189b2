# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of an evaluation: a curve for each method, or a row for each program."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path

from mlcb_gym.picture import picture

Rows = Mapping[str, Sequence[float | None]]
"""The ratios of the programs, by the label of their method."""

MARKERS = "o^xD|sv*P+"
LINES = ("-", "--", ":")
"""Of as many methods each as there are colours."""

LOWEST, HIGHEST = 0.6, 1.2
"""The ratios that curves are drawn between: the same in all pictures, and no outlier makes differences too small to see."""


def plot_curves(path: Path, rows: Rows, *, emphasised: str, title: str, label: str) -> None:
    """Draws the sorted ratios of every method as a line; those below ``LOWEST`` and above ``HIGHEST`` are triangles at the edge."""
    from matplotlib import colormaps

    with picture(path, (10, 5.5)) as (_, axes):
        for i, (method, ratios) in enumerate(rows.items()):
            width, order = (2.5, 3) if method == emphasised else (1, 2)
            color, known = colormaps["tab20"](i % 20), sorted(r for r in ratios if r is not None)
            axes.plot(known, label=method, color=color, linestyle=LINES[i // 20 % len(LINES)], linewidth=width, zorder=order)
            below, above = bisect_left(known, LOWEST), bisect_right(known, HIGHEST)
            for marker, edge, beyond in (("v", LOWEST, range(below)), ("^", HIGHEST, range(above, len(known)))):
                axes.plot(beyond, [edge] * len(beyond), marker, color=color, clip_on=False, zorder=order)
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set(title=title, xlabel="programs, sorted for each method; a triangle is beyond the axis", ylabel=label, ylim=(LOWEST, HIGHEST))
        axes.legend(fontsize="small")


def plot_programs(path: Path, rows: Rows, programs: Sequence[str], *, best: str, title: str, label: str) -> None:
    """Draws a row for each program, those with most to gain on top, with the ratio of every method in it.

    Args:
        best: the method that programs are ordered by.
    """
    order = sorted(range(len(programs)), key=lambda i: -(rows[best][i] or 1.0))
    with picture(path, (10, 2 + 0.25 * len(order))) as (_, axes):
        for i, (method, ratios) in enumerate(rows.items()):
            own = [nan if (ratio := ratios[p]) is None else ratio for p in order]
            axes.scatter(own, range(len(order)), marker=MARKERS[i % len(MARKERS)], color=f"C{i}", label=method, zorder=3)
        axes.axvline(1.0, color="black", linewidth=0.8)
        axes.set_yticks(range(len(order)), [programs[i] for i in order])
        axes.set(xlabel=f"{label}, geometric mean and 95 % by program in the legend", xscale="log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("{x:g}")
        axes.set_title(title, fontsize="medium")
        axes.grid(axis="y", linewidth=0.4)
        axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
