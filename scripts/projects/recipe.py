# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The projects, and the ways in which each is built."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from mlcb_gym import toolchain
from mlcb_gym.corpus.sources import Source, unpack
from mlcb_gym.export.aot import compiled
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.deployed import runner_uri
from mlcb_gym.policies import shipped

PASSES, ALLOCATION, LOOPS, CODE = ("posetrl", "inliner"), ("eviction", "priority"), ("loop_distribution",), ("function_size",)
FUNCTIONS = ("function_posetrl",)


@dataclass(frozen=True)
class Project:
    """A project of ``projects.toml``; commands run in the folder of its sources."""

    name: str
    version: str
    sha256: str
    build: str
    linked: Sequence[str]
    configure: str = ":"
    test: str = ":"
    workload: str = ""

    def unpack(self, folder: Path) -> Path:
        """Unpack the sources in a folder; return that of the project."""
        return unpack(Source(name=self.name, split="test", origin="debian", version=self.version, sha256=self.sha256), folder)


@dataclass(frozen=True)
class Way:
    """A way to build: a level, and the tasks that policies decide. ``again`` is a second build by stock, against which nothing should differ."""

    level: str
    tasks: Sequence[str] = ()
    guard: bool = False
    candidates: int = 0
    again: bool = False

    @property
    def name(self) -> str:
        """Its name in the tables."""
        policies = " + ".join(self.tasks) or ("stock again" if self.again else "stock")
        candidates = f", {self.candidates} candidate{'s' * (self.candidates > 1)}"
        tried = candidates if self.candidates else ", guarded" * self.guard
        return f"{policies}{tried} {self.level}"

    @property
    def stock(self) -> "Way":
        """Stock at the same level."""
        return Way(self.level)

    def flags(self, folder: Path) -> str:
        """Write a configuration into a folder where one is needed; return the flags of the compiler."""
        if not self.tasks:
            return self.level
        path = folder / "mlcb.cfg"
        policies = [shipped()[task] for task in self.tasks]
        write_clang_config(path, policies, guard=self.guard, candidates=self.candidates, uri=lambda policy: runner_uri(compiled(policy)))
        return f"--config={path.absolute()} {self.level}"


WAYS = (
    Way("-Oz"),
    Way("-O2"),
    Way("-O3"),
    Way("-Oz", ("posetrl",)),
    Way("-Oz", ("posetrl",), guard=True),
    Way("-Oz", ("inliner",)),
    Way("-Oz", CODE),
    Way("-Oz", CODE, guard=True),
    Way("-Oz", CODE, candidates=3),
    Way("-Oz", (*PASSES[:1], *CODE), candidates=1),
    Way("-Oz", FUNCTIONS),
    Way("-Oz", FUNCTIONS, guard=True),
    Way("-Oz", (*FUNCTIONS, *CODE), candidates=3),
    Way("-O2", ALLOCATION),
    Way("-O2", ALLOCATION, guard=True),
    Way("-O3", LOOPS),
    Way("-Oz", (*PASSES, *CODE, *ALLOCATION, *LOOPS)),
    Way("-Oz", (*PASSES, *CODE, *ALLOCATION), guard=True),
    Way("-Oz", again=True),
)
"""Stock first: others are compared with it. The last one says how much two builds by stock differ."""


def made_from(project: Project, way: Way) -> list[str]:
    """Return what a build of a project depends on: clang's version, a digest of the recipe, and, where policies decide, the names that they have
    compiled, with a digest of each, and a digest of the plugin that asks them."""
    return [_clang_version(), _digest(repr(project).encode()), *_deciders(tuple(way.tasks))]


@cache
def _deciders(tasks: tuple[str, ...]) -> tuple[str, ...]:
    asked = (compiled(shipped()[task]).name for task in tasks)
    return (*asked, _digest(toolchain.plugin().read_bytes())) if tasks else ()


@cache
def _clang_version() -> str:
    return toolchain.version_of(toolchain.tool("clang"))


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def projects() -> Iterator[Project]:
    """Yield all projects."""
    table = tomllib.loads(Path(__file__).with_name("projects.toml").read_text())
    for name, entry in table.items():
        yield Project(name=name, **entry)
