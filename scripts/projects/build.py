# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One project, built in one way, and measured."""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event

from mlcb_gym import atomic, toolchain
from mlcb_gym.session.objects import loaded_sections
from scripts.projects.recipe import Project, Way, made_from

COMMAND_SECONDS = 1200.0
DATA_BYTES = 8_000_000


class BuildError(Exception):
    """A command of a project failed."""


@dataclass(frozen=True)
class Cost:
    """The cost of a command: processor time of it and all it started [s], and the largest of their resident sets [MB]."""

    cpu: float
    memory: float


@dataclass
class Built:
    """A build: what it was made from (see ``made_from``), costs, and of each linked file the bytes of its loaded sections and of itself, stripped."""

    made_from: list[str]
    configure: Cost
    build: Cost
    sections: dict[str, dict[str, int]]
    stripped: dict[str, int]
    tests: str
    output: str = ""
    runs: list[float] = field(default_factory=list)

    @property
    def linked_files(self) -> dict[str, int]:
        """Bytes of all sections that are loaded and lie in a file, of each file."""
        return {file: sum(sections.values()) for file, sections in self.sections.items()}

    @property
    def linked(self) -> int:
        """The same of all files together."""
        return sum(self.linked_files.values())

    def write(self, path: Path) -> None:
        """Write it whole or not at all."""
        atomic.write(path, json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, path: Path) -> "Built":
        """Read what ``write`` wrote."""
        read = json.loads(path.read_text())
        return cls(configure=Cost(**read.pop("configure")), build=Cost(**read.pop("build")), **read)


def to_run(work: Path) -> dict[str, str]:
    """Return the variables of a user who runs what was built."""
    return {**os.environ, "DATA": str(data(work.parent).absolute()), "LC_ALL": "C", "TZ": "UTC"}


def to_build(work: Path, way: Way) -> dict[str, str]:
    """Return the variables of a user who builds in this way."""
    flags = way.flags(work)
    cmake = "cmake -B build -DCMAKE_BUILD_TYPE=None -DCMAKE_POLICY_VERSION_MINIMUM=3.5"
    compilers = {"CC": str(toolchain.tool("clang")), "CXX": str(toolchain.tool("clang++")), "CFLAGS": flags, "CXXFLAGS": flags}
    return {**to_run(work), **compilers, "CMAKE": cmake}


def data(folder: Path) -> Path:
    """Return text of a fixed seed, for what reads text."""
    path = folder / "data.txt"
    if not path.exists():
        words = random.Random(1)
        vocabulary = ["".join(words.choices("etaoinshrdlucmfw", k=words.randint(2, 9))) for _ in range(4000)]
        text = " ".join(words.choices(vocabulary, weights=[1 / (1 + rank) for rank in range(4000)], k=DATA_BYTES // 4))
        path.write_text("\n".join(re.findall(r".{1,90}(?:\s|$)", text))[:DATA_BYTES])
    return path


def build(project: Project, way: Way, work: Path) -> Built:
    """Unpack, configure, build and test a project in a folder of its own, which stays for its workload.

    Raises:
        BuildError: it cannot be configured or built.
    """
    shutil.rmtree(work, ignore_errors=True)
    (work / "sources").mkdir(parents=True)
    tree = project.unpack(work / "sources")
    variables = to_build(work, way)
    configured = run(project.configure, tree, variables)
    built = run(project.build, tree, variables)
    try:
        run(project.test, tree, variables)
        tests = "passed" if project.test != ":" else "none"
    except BuildError as error:
        tests = str(error)
    files = {pattern: file for pattern in project.linked for file in [*tree.glob(pattern)][:1]}
    if missing := set(project.linked) - set(files):
        raise BuildError(f"{project.name}: {', '.join(sorted(missing))} not built")
    sections = {pattern: loaded_sections(file) for pattern, file in files.items()}
    return Built(made_from(project, way), configured, built, sections, {pattern: stripped(file, work) for pattern, file in files.items()}, tests)


def run_workload(project: Project, work: Path) -> tuple[str, float]:
    """Run the workload of a built project; return the digest of its output, and its processor time [s]."""
    (tree,) = (work / "sources").iterdir()
    output = work / "output"
    cost = run(f"({project.workload}) > {output.absolute()}", tree, to_run(work))
    return hashlib.sha256(output.read_bytes()).hexdigest()[:16], cost.cpu


class Ended(Exception):
    """The build was given up."""


_running: set[subprocess.Popen[bytes]] = set()
_ended = Event()


def end_running() -> None:
    """Kill the commands that other threads run, with all that they have started; no other begins."""
    _ended.set()
    for process in list(_running):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def run(command: str, folder: Path, variables: Mapping[str, str]) -> Cost:
    """Run a command of the shell to its end.

    Raises:
        BuildError: it failed, or took too long.
        Ended: ``end_running`` was called.
    """
    log, usage = (folder.parent.parent.absolute() / name for name in ("log", "usage"))
    # A process begins with the memory of the one that starts it, which is in its peak: GNU time is small.
    measured = ["time", "--quiet", "-o", str(usage), "-f", "%U %S %M", "sh", "-ec", command]
    with log.open("ab") as stream:
        process = subprocess.Popen(
            measured, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
        )
        _running.add(process)
        if _ended.is_set():
            end_running()
        try:
            process.wait(COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        finally:
            _running.remove(process)
    if _ended.is_set():
        raise Ended
    if process.returncode:
        raise BuildError(f"{command.strip().splitlines()[0]!r} ended with {process.returncode}: see {log}")
    user, system, kilobytes = map(float, usage.read_text().split())
    return Cost(user + system, kilobytes / 1024)


def stripped(file: Path, work: Path) -> int:
    """Return the bytes of a file without its symbols."""
    target = work / "stripped"
    subprocess.run([toolchain.tool("llvm-strip"), file, "-o", target], timeout=60, check=True)
    return target.stat().st_size
