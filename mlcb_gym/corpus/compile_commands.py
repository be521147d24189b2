# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a build's own `compile_commands.json` to a corpus: every file as clang's frontend leaves it, before any pass."""

import json
import os
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from os.path import commonpath
from pathlib import Path
from typing import Any

from mlcb_gym import atomic
from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.mlgo import BITCODE, COMMAND, describe
from mlcb_gym.errors import ProgramError
from mlcb_gym.toolchain import tool

#: Functions carry ``minsize`` as -Oz has it; what is embedded is what the passes will see.
EMBEDDING = ("-Oz", "-g0", "-w", "-Qunused-arguments", "-Xclang", "-fembed-bitcode=all", "-c")
LANGUAGES = {".c": "clang", ".C": "clang++", ".cc": "clang++", ".cpp": "clang++", ".cxx": "clang++", ".c++": "clang++"}

_LAUNCHERS = ("ccache", "sccache", "distcc", "icecc")
_PASSED_ON = ("-Xclang", "-Xpreprocessor", "-Xassembler", "-Xlinker", "-mllvm")
_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "-MJ")
_DROPPED = ("-c", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "-emit-llvm", "-fsyntax-only")
_DROPPED_PREFIXES = ("-O", "-g", "-flto", "-fembed-bitcode", "-save-temps", "-Werror", "-Wp,-M")
_KEPT_PREFIXES = ("-gcc-toolchain", "-gcc-install-dir")


@dataclass(frozen=True)
class CompileCommand:
    """One entry: ``words`` is its command line without the compiler, ``output`` the object that the build makes, relative to ``folder``."""

    folder: Path
    file: str
    words: tuple[str, ...]
    output: str

    @property
    def object(self) -> Path:
        """The object file, which distinguishes two entries of one source."""
        place = self.folder / self.output
        return place.parent.resolve() / place.name


def read(file: Path) -> dict[str, CompileCommand]:
    """The entries of a compilation database, of several with one object the last; by the names of their modules, which are the objects' paths from
    the folder that holds them all.

    Raises:
        ProgramError: the file is no such database.
    """
    try:
        return _by_name([_entry(entry) for entry in json.loads(file.read_text())])
    except OSError as error:
        raise ProgramError(f"{file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RuntimeError) as error:  # of nesting, and of links in a loop, the last
        raise ProgramError(f"{file}: no compilation database: {type(error).__name__}: {error}") from error


def extract(database: Path, output: Path, *, built: bool = False, jobs: int = 2) -> Iterator[str]:
    """Writes a corpus to the folder ``output``; yields a line per file that could not be had.

    Args:
        built: take what the build embedded in its own objects, with ``-Xclang -fembed-bitcode=all``, instead of compiling again.
        jobs: compilers at once.

    Raises:
        ProgramError: the database cannot be read, or nothing could be had.
    """
    commands = read(database)
    names: list[str] = []
    with ThreadPoolExecutor(jobs) as pool:
        for name, error in zip(commands, pool.map(lambda name: _extract(name, commands[name], output, built), commands), strict=True):
            if error is None:
                names.append(name)
            else:
                yield error
    if not names:
        raise ProgramError(f"{database}: none of {len(commands)} files gave a module")
    describe(output, names)


def _by_name(entries: list[CompileCommand]) -> dict[str, CompileCommand]:
    by_object = {entry.object: entry for entry in entries}
    root = commonpath([*(entry.folder.resolve() for entry in entries), *(place.parent for place in by_object)]) if entries else ""
    return {place.relative_to(root).as_posix(): entry for place, entry in by_object.items()}


def _entry(entry: dict[str, Any]) -> CompileCommand:
    words = [_text(word) for word in entry["arguments"]] if "arguments" in entry else shlex.split(_text(entry["command"]))
    if words and Path(words[0]).name in _LAUNCHERS:
        del words[0]
    outputs = [after for word, after in pairwise(words) if word == "-o"]
    file = Path(_text(entry["file"]))
    below = file.relative_to(file.anchor)  # one source may be compiled in two folders
    output = _text(entry.get("output") or (outputs[-1] if outputs else f"{below}.o"))
    return CompileCommand(Path(_text(entry["directory"])), entry["file"], tuple(words[1:]), output)


def _text(value: Any) -> str:
    """Return what may be an argument of a command, or a path.

    Raises:
        TypeError: it is no text.
        ValueError: the system has no such text.
    """
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is {type(value).__name__}, expected a string")
    if b"\0" in os.fsencode(value):
        raise ValueError(f"{value!r:.80} has a byte 0")
    return value


def _extract(name: str, command: CompileCommand, output: Path, built: bool) -> str | None:
    """Writes a module; what was wrong, if anything."""
    try:
        if built:
            _take(command.object, name, output)
        else:
            with tempfile.TemporaryDirectory() as folder:
                _take(_compiled(command, Path(folder) / "module.o"), name, output)
    except ProgramError as error:
        return str(error)
    return None


def _compiled(command: CompileCommand, output: Path) -> Path:
    language = LANGUAGES.get(Path(command.file).suffix)
    if language is None:
        raise ProgramError(f"{command.file}: neither C nor C++, expected one of {' '.join(LANGUAGES)}")
    if not command.folder.is_dir():
        raise ProgramError(f"{command.file}: {command.folder}: no such folder, expected that of its compilation")
    run((tool(language), *_kept(command.words), *EMBEDDING, "-o", output), subject=command.file, folder=command.folder)
    return output


def _kept(words: Sequence[str]) -> Iterator[str]:
    """Return the options of the frontend, without those of the output."""
    options = _options(words)
    for *passed_on, word in options:
        if word in _WITH_VALUE:
            next(options, None)
        elif word not in _DROPPED and (word.startswith(_KEPT_PREFIXES) or not word.startswith((*_DROPPED_PREFIXES, *_WITH_VALUE))):
            yield from (*passed_on, word)


def _options(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every word, together with the one before it that passes it on."""
    remaining = iter(words)
    for word in remaining:
        yield (word, *islice(remaining, 1)) if word in _PASSED_ON else (word,)


def _take(compiled: Path, name: str, output: Path) -> None:
    """The bitcode and the command line in an object's own sections."""
    if not compiled.is_file():
        raise ProgramError(f"{compiled}: no such object, expected one that the build has made")
    with tempfile.TemporaryDirectory() as folder:
        sections = {suffix: Path(folder) / f"module{suffix}" for suffix in (BITCODE, COMMAND)}
        dumps = (f"--dump-section=.llvmbc={sections[BITCODE]}", f"--dump-section=.llvmcmd={sections[COMMAND]}")
        run((tool("llvm-objcopy"), *dumps, compiled, "/dev/null"), subject=name)
        for suffix, section in sections.items():
            atomic.write(output / (name + suffix), section.read_bytes())
