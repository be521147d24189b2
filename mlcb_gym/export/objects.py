# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How large an object file is, by the same measure as in the compiler."""

import json
import subprocess
from pathlib import Path

from mlcb_gym import toolchain


def object_size(path: Path) -> int:
    """Bytes of all allocated sections that are not BSS."""
    command: list[str | Path] = [toolchain.tool("llvm-readelf"), "--elf-output-style=JSON", "--sections", path]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    sections = [entry["Section"] for file in listed for entry in (file.get("Sections") or next(iter(file.values()))["Sections"])]
    return sum(s["Size"] for s in sections if _has(s["Flags"], "SHF_ALLOC") and s["Type"]["Name"] != "SHT_NOBITS")


def _has(flags: dict[str, list[dict[str, str]]], name: str) -> bool:
    return any(flag["Name"] == name for flag in flags["Flags"])
