# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the licences of the projects of the corpora, as Debian's `licensecheck` finds them in the files that were compiled; where these say nothing,
in the files that hold the project's licence."""

import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection
from functools import partial
from pathlib import Path
from posixpath import normpath

from mlcb_gym.corpus.corpora import BUILT, manifest
from mlcb_gym.corpus.sources import collection, unpack

TARGET = Path("mlcb_gym/corpus/collections/licences.tsv")
UNKNOWN = "UNKNOWN"
WHOLE = re.compile(r"(?i)[^/]+/(copying|licen[cs]e|copyright|lesser|unlicense)[^/]*")
"""The paths in an archive of files that hold the licence of a project."""
SECONDS = 3600.0


def main() -> None:
    """Writes a line for each project: its corpus, its name, its licences, the most frequent first."""
    lines = [f"{corpus}\t{project}\t{', '.join(found)}\n" for corpus in BUILT for project, found in licences(corpus).items()]
    TARGET.write_text("".join(lines))


def read(corpus: str) -> dict[str, str]:
    """Return the licences that were written, by project."""
    lines = (line.split("\t") for line in TARGET.read_text().splitlines())
    return {project: said for own, project, said in lines if own == corpus}


def licences(corpus: str) -> dict[str, list[str]]:
    """Return the licences of the projects that have modules in a corpus."""
    compiled = defaultdict(set)
    for module in manifest(corpus):
        compiled[module.project].add(module.source)
    with tempfile.TemporaryDirectory() as folder:
        for source in collection(corpus).sources:
            if files := {normpath(f"{source.root}/{file}") for file in compiled.get(source.name, ())}:
                unpack(source, Path(folder, source.name), partial(_is_wanted, files))
        found = checked(Path(folder))
    return {project: of_project(found[project]) or [unknown(found[project])] for project in compiled}


def _is_wanted(files: Collection[str], name: str) -> bool:
    path = normpath(name)
    return path.partition("/")[2] in files or bool(WHOLE.fullmatch(path))


def of_project(found: dict[str, str]) -> list[str]:
    """Return the licences of a project, given those of its files by their paths."""
    told = Counter(said for path, said in found.items() if not WHOLE.fullmatch(path) and said != UNKNOWN)
    return [said for said, _ in (told or Counter(said for said in found.values() if said != UNKNOWN)).most_common()]


def unknown(found: Collection[str]) -> str:
    """Return what is said of a project of whose files, given by their paths, licensecheck knows no licence."""
    files = sorted(path.rpartition("/")[2] for path in found if WHOLE.fullmatch(path))
    return f"its own text: {', '.join(files)}" if files else "not found: see its sources"


def checked(folder: Path) -> dict[str, dict[str, str]]:
    """Return what licensecheck says of the files of projects, by project and path."""
    command = ["licensecheck", "--machine", "--recursive", "--check=.", "--lines=0", "--shortname-scheme=debian,spdx", "."]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace", timeout=SECONDS, cwd=folder).stdout
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for line in printed.splitlines():
        file, _, said = line.rpartition("\t")
        project, _, path = normpath(file).partition("/")
        found[project][path] = said.removesuffix(" [generated file]")
    return found


if __name__ == "__main__":
    main()
