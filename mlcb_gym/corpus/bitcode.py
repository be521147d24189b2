# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a source file to bitcode as an honest -Oz sees it, kept in a content-addressed cache."""

import re
import tempfile
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from platformdirs import user_cache_path

from mlcb_gym.atomic import replacing
from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.compile_flags import flags_of, operand
from mlcb_gym.errors import ProgramError, ToolchainError
from mlcb_gym.toolchain import tool

#: Unoptimised, but as -Oz starts: functions carry ``minsize``; without that any pass order "beats" -Oz by 10 %.
UNOPTIMIZED = ("-Oz", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", "-g0", "-fno-ident", "-w")

SOURCES = {".c": "clang", ".cpp": "clang++", ".cc": "clang++", ".cxx": "clang++"}
SUFFIXES = (".bc", ".ll", *SOURCES)

MEMORY_BYTES = 8 << 30
"""Address space of clang on a source: far more than any one takes."""

_INCLUDING = re.compile(rb"include|import|embed|__has|__DATE|__TIME|\w(\\|\?\?/)\s*\n\w")
"""The words without which a program is its text alone; one may be cut by the end of a line."""
_INCLUDING_FLAGS = ("-include", "-imacros")

_MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


def bitcode(path: Path, root: Path | None = None) -> Path:
    """Return the bitcode of one file: the file itself, or what it is compiled or assembled to.

    Args:
        root: the folder up to which ``compile_flags.txt`` is looked for; by default the file's own.

    Raises:
        ProgramError: there is no such file, it is of another kind, or it does not compile.
        ToolchainError: LLVM's tool for its kind is missing.
    """
    if not path.is_file():
        raise ProgramError(f"{path}: no such file")
    if path.suffix == ".bc":
        return _checked(path)
    if path.suffix not in SUFFIXES:
        raise ProgramError(f"{path}: unknown kind of program, expected one of {' '.join(SUFFIXES)}")
    try:
        return _translated(path, root or path.parent)
    except ToolchainError as missing:
        raise ToolchainError(f"{path}: {missing}; bitcode (.bc) needs no tool") from None


def _translated(path: Path, root: Path) -> Path:
    if path.suffix == ".ll":
        return _cached((str(tool("llvm-as")), operand(path.name)), path.read_bytes(), path)
    command = _command(path.suffix, path.name, flags_of(path, root))
    return _cached(command, _preprocessed(command, path), path)


def bitcode_of_text(text: str, name: str, *, headers: str) -> Path:
    """Return the bitcode of a C program that is in no file.

    Args:
        headers: a text that includes the same headers in the same way. It is preprocessed in place of ``text``, once in a process, so that many
            programs of the same headers are found in the cache at once.
    """
    command = _command(".c", f"{name}.c", ())
    content = _preprocessed_text(headers) + text.encode()
    if is_bitcode(cached := _place(command, content)):
        return cached
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.c"
        path.write_text(text)
        return _cached(command, content, path)


def is_bitcode(path: Path) -> bool:
    """Return whether a file exists and begins as bitcode does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) in _MAGIC


def _checked(path: Path) -> Path:
    if not is_bitcode(path):
        raise ProgramError(f"{path}: not LLVM bitcode")
    return path


def _command(suffix: str, name: str, flags: Sequence[str]) -> tuple[str, ...]:
    # Clang runs beside the file and sees its bare name, so that neither the bitcode nor its digest knows the machine's paths.
    return (str(tool(SOURCES[suffix])), *UNOPTIMIZED, *flags, operand(name))


def _preprocessed(command: Sequence[str], path: Path) -> bytes:
    """Return a source with all that it includes; of one that includes nothing, itself."""
    text = path.read_bytes()
    if not _INCLUDING.search(text) and not any(flag.startswith(_INCLUDING_FLAGS) for flag in command):
        return text
    compiler, *rest = command
    return run((compiler, "-E", *rest), subject=str(path), folder=path.parent, memory_bytes=MEMORY_BYTES)


@cache
def _preprocessed_text(text: str) -> bytes:
    return run((str(tool("clang")), *UNOPTIMIZED, "-E", "-x", "c", "-"), subject="headers", stdin=text.encode())


def _cached(command: Sequence[str], content: bytes, path: Path) -> Path:
    """Return what a command makes of a file, by the digest of the command and of ``content``."""
    cached = _place(command, content)
    if not is_bitcode(cached):
        with replacing(cached) as unfinished:  # several processes may compile the same file at once
            run((*command, "-o", str(unfinished)), subject=str(path), folder=path.parent, memory_bytes=MEMORY_BYTES)
    return cached


def _place(command: Sequence[str], content: bytes) -> Path:
    key = sha256("\0".join((_identity(command[0]), *command)).encode() + b"\0" + content).hexdigest()
    return user_cache_path("mlcb_gym") / "bitcode" / key[:2] / f"{key}.bc"


@cache
def _identity(program: str) -> str:
    """Return what differs between two versions of a program at one place."""
    status = Path(program).stat()
    return f"{status.st_size} {status.st_mtime_ns}"
