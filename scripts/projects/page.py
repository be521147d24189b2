# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of the projects: what is got and what is paid, against stock of the same level."""

from collections.abc import Callable, Iterator, Mapping

from benchmarks.report import machine
from mlcb_gym import toolchain
from mlcb_gym.rollout.trace import geomean
from scripts.projects.build import Built
from scripts.projects.recipe import WAYS, Way

Results = Mapping[str, Mapping[str, Built]]
"""By project, and by the name of a way."""

COLUMNS: Mapping[str, Callable[[Built], float]] = {
    "linked bytes": lambda built: built.linked,
    "stripped file": lambda built: sum(built.stripped.values()),
    "CPU of the build": lambda built: built.build.cpu,
    "CPU of configuring": lambda built: built.configure.cpu,
    "memory": lambda built: built.build.memory,
    "run time": lambda built: min(built.runs, default=0.0),
}
EACH = {
    "linked bytes": ("bytes", "{:.0f}"),
    "CPU of the build": ("seconds", "{:.2f}"),
    "memory": ("MiB", "{:.0f}"),
    "run time": ("seconds", "{:.2f}"),
}
"""The columns that are shown of every project, with their units and how they are written."""
LEAST_SECONDS = 0.2
"""Ratios of shorter times say nothing."""

SECTIONS = (".text", ".rodata", ".eh_frame", ".eh_frame_hdr", ".rela.dyn", ".plt", ".data.rel.ro")

HEAD = """# Real projects

`make check-projects` wrote this page: {count} projects of Debian 12 in their own build systems, with their own tests, by clang {version} and with
the policies that ship, compiled ahead of time. They are a test split: no policy was trained on them, or chosen by them. Policies decide at every
level; they were trained at -Oz (posetrl, inliner, function_size, function_posetrl), -O2 (eviction, priority) and -O3 (loop_distribution).

Geometric means of ratios to stock at the same level, and the worst project in brackets; less is better. Linked bytes are those of the sections that
are loaded, of all libraries and programs that a project links. Processor time is that of `make` and all it starts. Memory is the peak of the largest
of these processes; a fork of the guard counts as its own process and shares memory with its parent, so this does not show how much several compilers
use together. Run time is the processor time of a workload of a project's users, the fastest of {runs} in turns; an empty cell means no workload, or
one that takes 0.2 s or less. The last row is stock against stock: what differs there is noise.

{machine}.

"""


def text(results: Results) -> str:
    """Return the page of the projects that were built in all ways."""
    compared = [way for way in WAYS if way.tasks or way.again]
    parts = [_head(results), *_table(["", *COLUMNS], ([way.name, *(_overall(results, way, column) for column in COLUMNS)] for way in compared))]
    for column, (unit, written) in EACH.items():
        parts += [f"\n## Every project: {column}\n\nStock -Oz in {unit}, the others as ratios to stock of their levels.\n\n"]
        parts += _table(
            ["", "-Oz", *(way.name for way in compared)], (_each(name, built, compared, column, written) for name, built in results.items())
        )
    sized = [way for way in compared if not way.again]
    parts += ["\n## Linked bytes by section\n\nBytes of all projects together, against stock.\n\n"]
    parts += _table(["", *SECTIONS], ([way.name, *(_of_section(results, way, section) for section in SECTIONS)] for way in sized))
    parts += ["\n## Tests\n\n", *_tests(results)]
    return "".join(parts)


def failures(results: Results) -> Iterator[str]:
    """Yield what is not as in stock: tests that fail where stock's pass, other output of a workload, guarded files that are larger."""
    for name, built in results.items():
        for way in WAYS:
            ours, stock = built[way.name], built[way.stock.name]
            if ours.tests != stock.tests and "passed" in {ours.tests, stock.tests}:
                yield f"{name}, {way.name}: tests: {ours.tests}; of stock: {stock.tests}"
            if ours.output != stock.output:
                yield f"{name}, {way.name}: its workload wrote something else than stock's"
            for file, bytes_ in ours.linked_files.items() if way.guard or way.candidates else ():
                if bytes_ > 1.001 * stock.linked_files[file]:
                    yield f"{name}, {way.name}: {file} has {bytes_} bytes linked, stock's {stock.linked_files[file]}"


def _head(results: Results) -> str:
    runs = max((len(built.runs) for ways in results.values() for built in ways.values()), default=0)
    return HEAD.format(count=len(results), version=toolchain.version(), runs=runs, machine=machine())


def _table(titles: list[str], rows: Iterator[list[str]] | list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n"
    for row in rows:
        yield f"| {' | '.join(row)} |\n"


def _ratio(ours: float, stock: float) -> float:
    return ours / stock if stock else 1.0


def _overall(results: Results, way: Way, column: str) -> str:
    """The mean ratio of a column, and the worst; empty where no project has it."""
    ratios = [ratio for built in results.values() if (ratio := _to_stock(built, way, column)) is not None]
    return f"{geomean(ratios):.3f} ({max(ratios):.3f})" if ratios else ""


def _to_stock(built: Mapping[str, Built], way: Way, column: str) -> float | None:
    """The ratio of a column to stock's; None where stock has too little of it to compare with."""
    least = LEAST_SECONDS if "CPU" in column or column == "run time" else 0
    ours, stock = (COLUMNS[column](built[name]) for name in (way.name, way.stock.name))
    return ours / stock if stock > least else None


def _each(name: str, built: Mapping[str, Built], ways: list[Way], column: str, written: str) -> list[str]:
    stock = COLUMNS[column](built["stock -Oz"])
    ratios = (_to_stock(built, way, column) for way in ways)
    return [name, written.format(stock) if stock else "", *("" if ratio is None else f"{ratio:.3f}" for ratio in ratios)]


def _of_section(results: Results, way: Way, section: str) -> str:
    def total(name: str) -> int:
        return sum(sections.get(section, 0) for built in results.values() for sections in built[name].sections.values())

    return f"{_ratio(total(way.name), total(way.stock.name)):.3f}"


def _tests(results: Results) -> Iterator[str]:
    found = list(failures(results))
    yield "\n".join(f"- {line}" for line in found) if found else "All tests end as with stock, and all workloads write the same output.\n"
