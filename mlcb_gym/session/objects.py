# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The size of an object file, or of what is linked, by the same measure as in the compiler."""

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlcb_gym import toolchain
from mlcb_gym.errors import CompilerError

READ_SECONDS = 60.0


def object_size(path: Path) -> int:
    """Return the bytes of all allocated sections that are not BSS."""
    return sum(section["Size"] for section in _loaded(path))


def loaded_sections(path: Path) -> dict[str, int]:
    """Return the bytes of the sections that are in the file and in memory, by name; those of one name are summed."""
    sizes: Counter[str] = Counter()
    for section in _loaded(path):
        sizes[section["Name"]["Name"]] += section["Size"]
    return dict(sizes)


def object_metrics(path: Path, names: Sequence[str]) -> dict[str, float]:
    """Return ``size`` and ``text`` of an object file, those that are named."""
    loaded = _loaded(path)
    measured = {"size": sum(s["Size"] for s in loaded), "text": sum(s["Size"] for s in loaded if _has(s["Flags"], "SHF_EXECINSTR"))}
    return {name: measured[name] for name in names}


def _loaded(path: Path) -> list[dict[str, Any]]:
    """The sections whose bytes are in the file and in memory.

    Raises:
        CompilerError: it is no object file, or cannot be read in time.
    """
    command: list[str | Path] = [toolchain.tool("llvm-readelf"), "--elf-output-style=JSON", "--sections", path]
    try:
        with toolchain.starting(command[0]):
            listed = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=READ_SECONDS).stdout)
    except subprocess.TimeoutExpired:
        raise CompilerError(f"{path}: not read within {READ_SECONDS:g} s") from None
    except (subprocess.CalledProcessError, ValueError) as error:
        raise CompilerError(f"{path}: cannot be read, expected an object file") from error
    sections = [entry["Section"] for file in listed for entry in (file.get("Sections") or next(iter(file.values()))["Sections"])]
    return [s for s in sections if _has(s["Flags"], "SHF_ALLOC") and s["Type"]["Name"] != "SHT_NOBITS"]


def _has(flags: dict[str, list[dict[str, str]]], name: str) -> bool:
    return any(flag["Name"] == name for flag in flags["Flags"])
