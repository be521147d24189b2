# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of whole linked programs, with and without a policy in clang."""

import tempfile
from pathlib import Path

from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.evaluation.statistics import Estimate, estimate
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.toolchain import tool

LIBRARIES = ("-lm",)


def evaluate_linked(policy: Path, programs: ProgramsLike) -> Estimate:
    """Return the ratio of the bytes of executables (code and data, without BSS) that ``clang -Oz`` makes with a policy to those without.

    Args:
        programs: each a program of its own.

    Raises:
        ProgramError: one does not link.
    """
    chosen = resolve(programs)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mlcb.cfg"
        write_clang_config(config, [policy])
        ratios = [_bytes(p, Path(folder), f"--config={config}") / _bytes(p, Path(folder)) for p in chosen]
    return estimate(ratios, [p.project for p in chosen])


def _bytes(program: Program, folder: Path, *arguments: str) -> int:
    executable = folder / "program"
    run((tool("clang++"), "-Oz", "-w", *arguments, program.bitcode, *LIBRARIES, "-o", executable), subject=program.name)
    text, data, *_ = run((tool("llvm-size"), executable), subject=program.name).decode().splitlines()[1].split()
    return int(text) + int(data)
