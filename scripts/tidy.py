# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy over the native files that changed since it last found nothing in them.

    python -m scripts.tidy build/cp311-cp311-linux_x86_64 [FOLDER ...]

The first argument is a build folder with a compile_commands.json, the others are folders within ``native``. What was clean is on record in
``build/tidy``, by the contents of a file and of all headers of this project that it includes.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "native"
RECORD = ROOT / "build" / "tidy"
TIDY = "clang-tidy-22"


@cache
def contents(path: Path) -> frozenset[Path]:
    """Return a file and all headers of this project that it includes, however far."""
    found = {path}
    for header in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        if (NATIVE / header).exists():
            found |= contents(NATIVE / header)
    return frozenset(found)


def stamp(path: Path) -> Path:
    """Return the record of a file as it is now."""
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for part in sorted(contents(path)):
        digest.update(part.read_bytes())
    return RECORD / digest.hexdigest()


def check(build: Path, path: Path) -> str:
    """Return what clang-tidy says about a file; empty if it is clean, which goes on record."""
    done = subprocess.run([TIDY, "-p", build, "--quiet", path], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        stamp(path).touch()
        return ""
    return done.stdout or done.stderr


def main(build: Path, folders: list[str]) -> int:
    """Check what changed; returns the exit code."""
    RECORD.mkdir(parents=True, exist_ok=True)
    compiled = {Path(entry["file"]) for entry in json.loads((build / "compile_commands.json").read_text())}
    wanted = sorted(path for path in compiled if any(path.is_relative_to(NATIVE / folder) for folder in folders or ["."]))
    changed = [path for path in wanted if not stamp(path).exists()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [said for said in pool.map(lambda path: check(build, path), changed) if said]
    print("\n".join(complaints), end="")
    print(f"clang-tidy: {len(changed)} of {len(wanted)} files read, {len(complaints)} with findings")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
