# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flags that sources of a folder need: `compile_flags.txt`, one flag a line, as clangd reads it."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mlcb_gym.errors import ProgramError

FLAGS = "compile_flags.txt"
_PATHS = ("-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros")
"""Flags with a path, which is relative to the folder of the file; its value may stand in a line of its own."""
_MACROS = ("-D", "-U")
"""Flags with a macro, which may stand in a line of its own."""
_KEPT = (
    *_PATHS,
    *_MACROS,
    "-std=",
    "--std=",
    "-ansi",
    "-pthread",
    "-fno-",
    "-funsigned-char",
    "-fsigned-char",
    "-fwrapv",
    "-fcommon",
    "-fms-extensions",
)
_DROPPED = ("-O", "-g", "-W", "-w", "-pedantic", "-c")
"""Flags that every program is compiled with or without alike."""


def flags_of(source: Path, root: Path) -> tuple[str, ...]:
    """Return the flags in the nearest ``compile_flags.txt`` of a source's folders, from its own up to ``root``; none where there is no such file.

    Only flags of the preprocessor and of the language are taken: others could run code, and folders of programs come from anywhere.

    Raises:
        ProgramError: the file has another flag, or is no text.
    """
    folder = source.parent
    folders = [folder, *(parent for parent in folder.parents if parent.is_relative_to(root))]
    file = next((file for each in folders if (file := each / FLAGS).is_file()), None)
    if file is None:
        return ()
    text = file.read_text(errors="replace")
    if "\0" in text:
        raise ProgramError(f"{file}: has a byte 0, expected one flag a line")
    lines = [line.strip() for line in text.splitlines()]
    return tuple(_kept([line for line in lines if line and not line.startswith("#")], file, folder))


def operand(name: str) -> str:
    """Return the name of a file as a tool takes it for one: neither an option nor a file of options."""
    return f"./{name}" if name.startswith(("-", "@")) else name


def _kept(lines: Sequence[str], file: Path, folder: Path) -> Iterator[str]:
    """Yield the flags, with paths relative to the folder that the compiler runs in, so that no bitcode knows the machine's.

    No value begins with ``@``: clang hands it on as a word of its own, and reads more flags, of any kind, from the file that such a word names.
    """
    remaining = iter(lines)
    for line in remaining:
        option = next((option for option in (*_PATHS, *_MACROS) if line.startswith(option)), None)
        if option is not None:
            value = _value(line.removeprefix(option).strip(), remaining, file, option)
            if option in _PATHS:
                yield option + (value if os.path.isabs(value) else operand(os.path.relpath(file.parent / value, folder)))
            elif value.startswith("@"):
                raise ProgramError(f"{file}: {option}{value}: expected the name of a macro, not of a file of more flags")
            else:
                yield option + value
        elif line.startswith(_KEPT):
            yield line
        elif not line.startswith(_DROPPED):
            raise ProgramError(f"{file}: {line}: expected flags of the preprocessor or the language: {' '.join(_KEPT)}")


def _value(beside: str, remaining: Iterable[str], file: Path, option: str) -> str:
    value = beside or next(iter(remaining), "")
    if not value:
        raise ProgramError(f"{file}: {option} has no value, expected one beside it or in the next line")
    return value
