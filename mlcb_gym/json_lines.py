# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of JSON objects, one on a line, that grow while something is measured; the last line may have been cut off."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from mlcb_gym.regular_file import read_regular


def read(path: Path) -> list[dict[str, Any]]:
    """Return the objects of all whole lines; none where there is no file."""
    return list(_whole(read_regular(path).decode())) if path.exists() else []


def extend(path: Path) -> TextIO:
    """Open a file for more lines, each of which is written at once."""
    lines = path.open("a", buffering=1)
    if lines.tell():
        _write(lines, "\n")
    return lines


def write(lines: TextIO, row: Mapping[str, Any]) -> None:
    """Write an object as a line of its own.

    Raises:
        OSError: it cannot be written; names the file.
    """
    _write(lines, f"{json.dumps(row)}\n")


def _write(lines: TextIO, text: str) -> None:
    try:
        lines.write(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, lines.name) from error


def _whole(text: str) -> Iterator[dict[str, Any]]:
    for line in filter(None, text.splitlines()):
        try:
            yield dict(json.loads(line))
        except ValueError:  # it was cut off, as where the disk was full
            continue
