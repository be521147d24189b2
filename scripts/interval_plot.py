# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots of the tables of a document: each ratio with its interval, as SVG below the table."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
RATIO = re.compile(r"\d+\.\d+")
INTERVAL = re.compile(r"(\d+\.\d+) - (\d+\.\d+)")
WIDTH, MARGIN, ROW = 400, 12, 36
"""Pixels: as wide as a phone, and the height of a row, whose name stands above its line."""


@dataclass(frozen=True)
class Ratio:
    """One row: a method, its ratio, and the ends of its interval, which are the ratio where there is none."""

    name: str
    value: float
    low: float
    high: float


def with_plots(text: str) -> str:
    """Return a document with a plot below every table that has intervals."""
    return TABLE.sub(lambda table: table[0] + _below(table[0]), text)


def ratios(table: str) -> Iterator[Ratio]:
    """Yield the rows of a Markdown table that have a ratio in the second column; none of a table without a column ``by program``.

    Example: ``| policy | 0.9911 | 0.9896 - 0.9925 |`` is ``Ratio("policy", 0.9911, 0.9896, 0.9925)``.
    """
    header, _, *rows = ([cell.strip() for cell in line.strip("\n ")[1:-1].split("|")] for line in table.splitlines())
    if "by program" not in header:
        return
    for cells in rows:
        if RATIO.fullmatch(cells[1]):
            interval = INTERVAL.fullmatch(cells[header.index("by program")])
            value = float(cells[1])
            yield Ratio(cells[0].replace("`", ""), value, *((float(interval[1]), float(interval[2])) if interval else (value, value)))


def plot(rows: list[Ratio], title: str) -> str:
    """Return the SVG: a line for each row, and one down through 1, where nothing is gained or lost."""
    left, right = min(1.0, *(row.low for row in rows)), max(1.0, *(row.high for row in rows))
    height = ROW * (len(rows) + 1)

    def x(ratio: float) -> float:
        return round(MARGIN + (ratio - left) / (right - left) * (WIDTH - 2 * MARGIN), 1)

    drawn = [f'<line x1="{x(1)}" x2="{x(1)}" y1="0" y2="{height - 20}" stroke="currentColor" stroke-dasharray="3 3" opacity="0.5"/>']
    for index, row in enumerate(rows):
        y = ROW * index + 26
        drawn += [
            f'<text x="{MARGIN}" y="{y - 10}">{escape(row.name)}: {row.value:.4f}</text>',
            f'<line x1="{x(row.low)}" x2="{x(row.high)}" y1="{y}" y2="{y}" stroke="#0b66c3" stroke-width="3"/>',
            f'<circle cx="{x(row.value)}" cy="{y}" r="4.5" fill="#0b66c3"/>',
        ]
    drawn.append(f'<text x="{min(max(x(1), 50), WIDTH - 50)}" y="{height - 6}" text-anchor="middle">1: no difference</text>')
    style = f"width:100%;max-width:{WIDTH}px;font-size:13px;fill:currentColor"
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" style="{style}">{"".join(drawn)}</svg>'


def _below(table: str) -> str:
    rows = list(ratios(table))
    title = f"{table.split(' | ')[1]}, with intervals by program"
    return f"\n{plot(rows, title)}\n\n" if len(rows) > 1 else ""
