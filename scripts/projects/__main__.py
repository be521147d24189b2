# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Build real projects by stock clang and with policies, run their tests, and write the table of what came out."""

import argparse
import json
import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.projects import page
from scripts.projects.build import BuildError, Built, build, end_running, run_workload
from scripts.projects.recipe import WAYS, Project, Way, made_from, projects

WORK = Path("build/projects")
RUNS = 3
"""Of each workload; the fastest counts."""


def main() -> int:
    """Build what has not been built; return whether anything failed or differs from stock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("projects", nargs="*", metavar="PROJECT", help="names of projects; all of them by default")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/projects.md"), help="the page")
    parser.add_argument("--minutes", type=float, default=90.0, help="no project begins after these; the next run goes on")
    parser.add_argument("--cores", default=",".join(map(str, sorted(os.sched_getaffinity(0)))), help="one project is built on each at a time")
    given = parser.parse_args()
    known = {project.name: project for project in projects()}
    if unknown := set(given.projects) - set(known):
        parser.error(f"{', '.join(sorted(unknown))}: expected one of {', '.join(known)}")
    left = [project for name, project in known.items() if name in (given.projects or known) and not _is_done(project)]
    cores, ends = list(map(int, given.cores.split(","))), time.monotonic() + 60 * given.minutes

    def play(project: Project) -> None:
        if time.monotonic() < ends:
            _play(project)

    with ThreadPoolExecutor(len(cores), initializer=lambda: os.sched_setaffinity(0, {cores.pop()})) as pool:
        try:
            failed = [error for future in [pool.submit(play, project) for project in left] if (error := future.exception())]
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            end_running()
            raise
    results = {name: _results(project) for name, project in known.items() if _is_done(project)}
    given.output.write_text(page.text(results))
    failures = [*map(str, failed), *page.failures(results)]
    print(*failures, f"{given.output}: {len(results)} of {len(known)} projects, {len(failures)} failures", sep="\n")
    return bool(failures)


def _play(project: Project) -> None:
    """Builds a project in all ways, one after another, then runs their workloads in turns.

    Raises:
        BuildError: one of them cannot be built.
    """
    started = time.monotonic()
    _done(project).unlink(missing_ok=True)
    found: dict[str, Built] = {}
    for number, way in enumerate(WAYS):
        file, work = _file(project, way.name), _folder(project, number)
        if work.exists() and _is_built(project, way):
            found[way.name] = Built.read(file)
            continue
        file.unlink(missing_ok=True)  # what it says is no longer of what lies there
        try:
            found[way.name] = build(project, way, work)
        except BuildError as error:
            raise BuildError(f"{project.name}, {way.name}: {error}") from error
        found[way.name].write(file)
    for _ in range(RUNS if project.workload else 0):
        for number, built in enumerate(found.values()):
            built.output, seconds = run_workload(project, _folder(project, number))
            built.runs.append(seconds)
    for way in WAYS:
        found[way.name].write(_file(project, way.name))
    for number in range(len(WAYS)):
        shutil.rmtree(_folder(project, number))
    _done(project).touch()
    print(f"{project.name}: {time.monotonic() - started:.0f} s", flush=True)


def _folder(project: Project, number: int) -> Path:
    """Where a project is built in one of the ways: of one length, for paths stand in what is built."""
    return WORK / project.name / f"{number:02}"


def _results(project: Project) -> dict[str, Built]:
    return {way.name: Built.read(_file(project, way.name)) for way in WAYS}


def _file(project: Project, way: str) -> Path:
    return WORK / "results" / project.name / f"{way}.json"


def _done(project: Project) -> Path:
    return WORK / "results" / project.name / "done"


def _is_done(project: Project) -> bool:
    return _done(project).exists() and all(_is_built(project, way) for way in WAYS)


def _is_built(project: Project, way: Way) -> bool:
    file = _file(project, way.name)
    return file.exists() and json.loads(file.read_text()).get("made_from") == made_from(project, way)


if __name__ == "__main__":
    sys.exit(main())
