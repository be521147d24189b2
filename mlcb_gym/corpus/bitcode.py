# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a source file to bitcode as an honest -Oz sees it, kept in a content-addressed cache."""

import os
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from platformdirs import user_cache_path

from mlcb_gym.corpus.command import run
from mlcb_gym.errors import ProgramError
from mlcb_gym.toolchain import tool

#: Unoptimised, but as -Oz starts: functions carry ``minsize``; without that any pass order "beats" -Oz by 10 %.
UNOPTIMIZED = ("-Oz", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", "-g0", "-fno-ident", "-w")

SOURCES = {".c": "clang", ".cpp": "clang++", ".cc": "clang++", ".cxx": "clang++"}
SUFFIXES = (".bc", ".ll", *SOURCES)

_MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


def bitcode(path: Path) -> Path:
    """Return the bitcode of one file: the file itself, or what it is compiled or assembled to."""
    if not path.is_file():
        raise ProgramError(f"{path}: no such file")
    if path.suffix == ".bc":
        return _checked(path)
    if path.suffix == ".ll":
        return _cached(path, path.read_bytes(), (str(tool("llvm-as")), _operand(path)))
    if path.suffix in SOURCES:
        return _compiled(path)
    raise ProgramError(f"{path}: unknown kind of program, expected one of {' '.join(SUFFIXES)}")


def bitcode_of_text(text: str, name: str) -> Path:
    """Return the bitcode of a C program that is in no file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.c"
        path.write_text(text)
        return _compiled(path)


def is_bitcode(path: Path) -> bool:
    """Return whether a file exists and begins as bitcode does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) in _MAGIC


def write_module(path: Path, bitcode: bytes) -> None:
    """Put bitcode in its place at once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    unfinished.write_bytes(bitcode)
    unfinished.replace(path)


def _checked(path: Path) -> Path:
    if not is_bitcode(path):
        raise ProgramError(f"{path}: not LLVM bitcode")
    return path


def _compiled(path: Path) -> Path:
    # Clang runs beside the file and sees its bare name, so that neither the bitcode nor its digest knows the machine's paths.
    command = (str(tool(SOURCES[path.suffix])), *UNOPTIMIZED, _operand(path))
    preprocessed = run((command[0], "-E", "-Oz", "-w", _operand(path)), subject=str(path), folder=path.parent)
    return _cached(path, preprocessed, command)


def _operand(path: Path) -> str:
    """Return the name of a file as a tool takes it for one: neither an option nor a file of options."""
    return f"./{path.name}" if path.name.startswith(("-", "@")) else path.name


def _cached(path: Path, content: bytes, command: Sequence[str]) -> Path:
    key = sha256("\0".join(command).encode() + b"\0" + content).hexdigest()
    cached = user_cache_path("mlcb_gym") / "bitcode" / key[:2] / f"{key}.bc"
    if not cached.exists():
        cached.parent.mkdir(parents=True, exist_ok=True)
        # Renamed when complete: several processes may compile the same file at once.
        with tempfile.TemporaryDirectory(dir=cached.parent) as folder:
            unfinished = Path(folder) / cached.name
            run((*command, "-o", str(unfinished)), subject=str(path), folder=path.parent)
            unfinished.replace(cached)
    return cached
