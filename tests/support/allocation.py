# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The register allocator that asks, in an environment and in stock tools."""

import subprocess
from pathlib import Path

import numpy as np

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.envs.regalloc import LLC
from tests.support.episodes import Choose

CLANG, LLC_22 = toolchain.tool("clang"), toolchain.tool("llc")
PROGRAM = "embedded/validation/chacha20"
ROUNDING = 1e-12
"""Of costs that are sums: what is the same by two ways may differ in the last digit."""


def by_default(task: str) -> Choose:
    def choose(observation: Observation) -> Action:
        told = observation[f"{task}_default"]
        return int(told.item()) if task == "eviction" else told / np.float32(2.0**32)

    return choose


def optimized(uri: str, folder: Path) -> Path:
    """A program as clang -O2 has it before code generation, but for its attributes."""
    (program,) = resolve(uri)
    subprocess.run([CLANG, "-O2", "-w", "-c", "-emit-llvm", program.bitcode, "-o", folder / "optimized.bc"], check=True)
    return folder / "optimized.bc"


def without_minsize(uri: str, module: Path) -> Path:
    """Write a program as -O2 has it: where the least size is asked for, bytes count first."""
    text = subprocess.run([toolchain.tool("llvm-dis"), resolve(uri)[0].bitcode, "-o", "-"], capture_output=True, text=True, check=True).stdout
    subprocess.run([toolchain.tool("llvm-as"), "-o", module], input=text.replace(" minsize", ""), text=True, check=True)
    return module


def function_sizes(binary: Path) -> dict[str, str]:
    """Of each function of an object, by name, in hexadecimal bytes."""
    listed = subprocess.run([toolchain.tool("llvm-nm"), "--print-size", "--format=posix", binary], capture_output=True, text=True, check=True)
    return {name: size for name, kind, _, size in map(str.split, listed.stdout.splitlines()) if kind in "tT"}


def stock(tool: str, program: Path, output: Path) -> list[str | Path]:
    if tool == "llc":
        return [LLC_22, *LLC, program, "-o", output]
    return [CLANG, "-O2", "-w", "-c", program, "-o", output]


def allocator(decider: str = "heuristic", splits: int = 0, max_ranges: int = 4000) -> list[str]:
    """The options of code generation that choose our allocator."""
    chosen = [f"-mlcb-regalloc-decider={decider}", f"-mlcb-regalloc-splits={splits}", f"-mlcb-regalloc-max-ranges={max_ranges}"]
    return ["-regalloc=mlcb", *chosen, "-verify-machineinstrs"]


def clang_flags(options: list[str]) -> list[str]:
    return ["-Xclang", "-load", "-Xclang", str(toolchain.plugin()), *of_code_generation(options)]


def of_code_generation(options: list[str]) -> list[str]:
    """Options of code generation, as clang takes them."""
    return [word for option in options for word in ("-mllvm", option)]
