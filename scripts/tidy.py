# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy over the native files that changed since it last found nothing in them.

    python -m scripts.tidy build/tidy

The argument is a build folder whose compile_commands.json has the sources one by one, as `make lint` makes it (-DMLCB_UNITY=OFF). What was clean is
on record in ``scripts/tidy.clean``, which is committed: a line per file, with a digest of its contents and of all headers of this project that it
includes. So a fresh clone reads nothing again.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "native"
RECORD = ROOT / "scripts" / "tidy.clean"
TIDY = "clang-tidy-22"


@cache
def contents(path: Path) -> frozenset[Path]:
    """Return a file and all headers of this project that it includes, however far."""
    found = {path}
    for header in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        if (NATIVE / header).exists():
            found |= contents(NATIVE / header)
    return frozenset(found)


def digest(path: Path) -> str:
    """Return the digest of a file as it is now, and of the checks."""
    read = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for part in sorted(contents(path)):
        read.update(part.read_bytes())
    return read.hexdigest()[:16]


def findings(build: Path, path: Path) -> str:
    """Return what clang-tidy says about a file; empty if it is clean."""
    done = subprocess.run([TIDY, "-p", build, "--quiet", path], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout or done.stderr or f"{path}: {TIDY} ended with {done.returncode}\n"


def main(build: Path) -> int:
    """Check what changed, put on record what is clean as soon as it is known; returns the exit code."""
    compiled = {Path(entry["file"]) for entry in json.loads((build / "compile_commands.json").read_text())}
    now = {f"{path.relative_to(ROOT)} {digest(path)}": path for path in sorted(compiled) if path.is_relative_to(NATIVE)}
    clean = set(RECORD.read_text().splitlines()) & set(now) if RECORD.exists() else set()
    changed = [line for line in now if line not in clean]
    complaints = 0
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        reading = {pool.submit(findings, build, now[line]): line for line in changed}
        for read in as_completed(reading):
            if said := read.result():
                complaints += 1
                print(said)
            else:
                clean.add(reading[read])
                RECORD.write_text("".join(f"{line}\n" for line in sorted(clean)))
    finally:
        pool.shutdown(cancel_futures=True)
    print(f"clang-tidy: {len(changed)} of {len(now)} files read, {complaints} with findings")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
