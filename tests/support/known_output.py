# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose output is known: those that ship, and csmith's."""

import json
import subprocess
from importlib.resources import files
from pathlib import Path

from mlcb_gym import toolchain

MANIFEST = json.loads(files("mlcb_gym.corpus").joinpath("embedded/manifest.json").read_text())
OUTPUTS = {name: entry["output"] for name, entry in MANIFEST["programs"].items()}
SAMPLE = sorted(OUTPUTS)[::9]
CSMITH_PROGRAMS, CSMITH_SECONDS = 100, 5.0
CSMITH_FLAGS = ("-I/usr/include/csmith", "-w")


def csmith(index: int, folder: Path) -> tuple[Path, str]:
    """The first program of a row of seeds that ends in time when it is not optimised, and what it prints."""
    for attempt in range(20):
        source = folder / f"csmith{index}_{attempt}.c"
        seed = str(1 + index + 1000 * attempt)
        source.write_text(subprocess.run(["csmith", "--seed", seed], check=True, capture_output=True, text=True, cwd=folder).stdout)
        compile_(source, "-O0", *CSMITH_FLAGS, output=folder / "reference")
        try:
            return source, run(folder / "reference", CSMITH_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"csmith makes no program that ends within {CSMITH_SECONDS} s, row {index}")


def compile_(source: Path, *flags: str, output: Path) -> None:
    subprocess.run([toolchain.tool("clang"), *flags, source, "-o", output], check=True, capture_output=True, timeout=600)


def run(program: Path, seconds: float = 60.0) -> str:
    done = subprocess.run([program], capture_output=True, text=True, timeout=seconds)
    return done.stdout if done.returncode == 0 else f"exit status {done.returncode}"
