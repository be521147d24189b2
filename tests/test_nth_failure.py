# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whichever write, fsync, rename, open, fork, mapping of a file or thread of a command fails, it says so in one line, and no file is half there."""

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mlcb_gym.policies import shipped
from mlcb_gym.training.checkpoints import read_network
from tests.support.nth_failure import KINDS, Commands, Failure, serving

SOURCE = "int sum(int n) { int s = 0; for (int i = 0; i < n; ++i) s += i; return s; }\n"
DRAWN = 50
"""The calls of a kind that fail, one in each run of a command; a sample of ``FEW`` is not slow."""
FEW = 2
FOREIGN = r"^Error in cpuinfo: .*\n"
"""What a library of PyTorch and ONNX Runtime says where it cannot read about the processor."""
ABORTS = {("train", "thread"), ("train", "mmap")}
"""Where Ray's own code has no thread or no shared memory it aborts; nobody then removes what is unfinished."""
MEASURED = re.compile(rb'"prepacking": \{[^}]*\}')
"""What is measured of a policy in its manifest: not always the same."""
UNFINISHED = re.compile(r"\..+\.[0-9a-f]{8}")
TINY = ("--iterations", "2", "--checkpoint-every", "1", "--set", "num_envs=1", "--set", "steps_per_iteration=16", "--set", "statistics_episodes=1")

Contents = dict[str, bytes]


@dataclass(frozen=True)
class Room:
    """The folder of all, and that of what one run writes."""

    folder: Path
    commands: Commands

    @property
    def written(self) -> Path:
        return self.folder / "written"

    def emptied(self) -> None:
        shutil.rmtree(self.written, ignore_errors=True)
        self.written.mkdir()

    def run(self, name: str, failure: Failure | None = None) -> tuple[int, str, dict[str, int]]:
        ended = self.commands.run(COMMANDS[name](self), failure)
        return ended.status, ended.stderr, ended.calls

    def contents(self) -> Contents:
        files = (file for file in self.written.rglob("*") if file.is_file() and "Microsoft" not in file.parts)
        return {str(file.relative_to(self.written)): MEASURED.sub(b"", file.read_bytes()) for file in files}


def train(room: Room) -> list[str | Path]:
    program = room.folder / "sources" / "a.c"
    return ["train", "posetrl", "--programs", program, "--validation", program, *TINY, "-o", room.written / "run"]


COMMANDS: dict[str, Callable[[Room], list[str | Path]]] = {
    "cache": lambda room: ["corpus", "list", room.folder / "sources"],
    "corpus": lambda room: ["corpus", "from-compile-commands", room.folder / "compile_commands.json", "-o", room.written / "corpus"],
    "aot": lambda room: ["aot", shipped()["inliner"], "-o", room.written / "policy.so"],
    "export": lambda room: ["export", room.folder / "checkpoint", room.written / "policy", "--programs", "embedded/validation/chacha20"],
    "train": train,
    "clang-config": lambda room: ["clang-config", "inliner", "--no-aot", "--bundle", "-o", room.written / "mlcb.cfg"],
    "log": lambda room: ["log", "record", "posetrl", "--programs", room.folder / "sources", "-o", room.written / "posetrl.log"],
    "search": lambda room: ["search", "posetrl", "--programs", room.folder / "sources", "--max-steps", "1", "-o", room.written / "decisions"],
    "evaluate": lambda room: ["evaluate", "inliner", "--programs", room.folder / "sources", "--best-of", "1", "-o", room.written / "evaluation"],
}
WHOLE = ("cache", "corpus", "aot", "export", "train")
"""The commands that write files whole or not at all."""
QUICK = ("cache", "corpus")
SLOW = ("aot", "export", "train")
NEVER = {"cache": {"write", "create", "mmap", "thread"}, "corpus": {"mmap"}, "aot": {"mmap"}, "export": {"mmap", "thread"}, "train": set[str]()}
"""The kinds of which a command itself makes no call; clang writes the modules of the cache."""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    folder = tmp_path_factory.mktemp("failures")
    (folder / "sources").mkdir()
    for name in ("a.c", "b.c"):
        (folder / "sources" / name).write_text(SOURCE.replace("sum", name[0]))
    entries = [{"directory": str(folder / "sources"), "file": name, "command": f"cc -c {name} -o {name}.o"} for name in ("a.c", "b.c")]
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    with serving(folder, XDG_CACHE_HOME=str(folder / "written" / "cache")) as commands:
        yield Room(folder, commands)


@pytest.fixture(scope="module")
def whole(room: Room) -> Callable[[str], tuple[Contents, dict[str, int]]]:
    """From a command to what it writes where nothing fails, and the number of calls of each kind."""
    known: dict[str, tuple[Contents, dict[str, int]]] = {}

    def find(name: str) -> tuple[Contents, dict[str, int]]:
        if name == "export" and not (room.folder / "checkpoint").exists():
            room.emptied()
            assert room.run("train")[0] == 0
            shutil.copytree((room.written / "run" / "last").resolve(), room.folder / "checkpoint")
        if name not in known:
            room.emptied()
            status, stderr, calls = room.run(name)
            assert status == 0, stderr
            known[name] = room.contents(), calls
        return known[name]

    return find


def assert_nothing_is_lost(room: Room, name: str, failure: Failure, expected: Contents) -> None:
    """Runs a command, one call of which fails: it does its work, or says in one line why not; each file is there as a whole, or not."""
    room.emptied()
    status, stderr, _ = room.run(name, failure)
    found = room.contents()
    unfinished = {path for path in found if any(map(UNFINISHED.fullmatch, Path(path).parts))}
    written = {path: contents for path, contents in found.items() if path not in unfinished}
    if name == "train":
        assert_checkpoints_are_whole(room.written / "run")
    else:
        assert written.items() <= expected.items(), failure
    if (name, failure.kind) in ABORTS:
        return
    files = [path for path in unfinished if UNFINISHED.fullmatch(Path(path).name)]
    assert not (files if failure.kind == "open" else unfinished), failure  # a folder that cannot be opened cannot be removed
    if status == 0:
        assert written.keys() >= expected.keys() or name == "train", failure
    else:
        assert_one_line(status, stderr)


def assert_one_line(status: int, stderr: str) -> None:
    said = re.sub(FOREIGN, "", stderr, flags=re.MULTILINE)
    assert (status, said.count("\n"), said[:6]) == (1, 1, "mlcb: "), stderr


def assert_checkpoints_are_whole(run: Path) -> None:
    for checkpoint in (run / "checkpoints").glob("[0-9]*"):
        read_network(checkpoint)
    for link in ("last", "best"):
        assert not (run / link).is_symlink() or (run / link / "run.json").exists()


def calls_of(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """The kinds of calls that may fail, of each command."""
    return [(name, kind) for name in names for kind in KINDS if kind not in NEVER[name]]


def drawn(name: str, kind: str, calls: int, number: int) -> list[Failure]:
    """The failures of a command; with as many calls of the kind, all of them."""
    assert calls, f"{name} makes no call of {kind}"
    rng = random.Random(f"{name} {kind}")
    return [Failure(kind, n, rng.random() < 0.5) for n in sorted(rng.sample(range(1, calls + 1), min(number, calls)))]


@pytest.mark.parametrize(("name", "kind"), calls_of(QUICK))
def test_sample_of_calls_that_fail_is_one_line_each(
    room: Room, whole: Callable[[str], tuple[Contents, dict[str, int]]], name: str, kind: str
) -> None:
    expected, calls = whole(name)
    for failure in drawn(name, kind, calls[kind], FEW):
        assert_nothing_is_lost(room, name, failure, expected)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), calls_of(WHOLE))
def test_any_call_that_fails_is_one_line(room: Room, whole: Callable[[str], tuple[Contents, dict[str, int]]], name: str, kind: str) -> None:
    expected, calls = whole(name)
    for failure in drawn(name, kind, calls[kind], DRAWN):
        assert_nothing_is_lost(room, name, failure, expected)


@pytest.mark.parametrize("kind", ["write", "create"])
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in COMMANDS if name != "cache"])
def test_full_or_read_only_disk_is_one_line(room: Room, whole: Callable[[str], tuple[Contents, dict[str, int]]], name: str, kind: str) -> None:
    whole(name)
    room.emptied()
    status, stderr, _ = room.run(name, Failure(kind, 1, every=True))
    assert_one_line(status, stderr)
