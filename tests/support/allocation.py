# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The register allocator that asks, in an environment and in stock tools."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.envs.regalloc import LLC

CLANG, LLC_22 = toolchain.tool("clang"), toolchain.tool("llc")
PROGRAM = "embedded/validation/chacha20"
LEAF = "int lonely(int x) { return x + 1; }\n"
Choose = Callable[[Observation], Action]


def finish(env: CompilerEnv, choose: Choose, program: object = PROGRAM) -> tuple[float, int, dict[str, Any]]:
    """The return of an episode, its decisions, and what was measured at its end."""
    observation, info = env.reset(options={"program": program})
    earned, steps, ended = 0.0, 0, False
    while not ended:
        observation, reward, ended, _, info = env.step(choose(observation))
        earned, steps = earned + reward, steps + 1
    assert "error" not in info, info
    return earned, steps, info


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


def stock(tool: str, program: Path, output: Path) -> list[str | Path]:
    if tool == "llc":
        return [LLC_22, *LLC, program, "-o", output]
    return [CLANG, "-O2", "-w", "-c", program, "-o", output]


def with_policy(command: Sequence[str | Path], uri: str) -> list[str | Path]:
    """The command with the one flag that has it ask."""
    if command[0] == LLC_22:
        return [LLC_22, f"-load={toolchain.plugin()}", f"-mlcb-runner={uri}", *command[1:]]
    return [CLANG, f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-runner={uri}", *command[1:]]
