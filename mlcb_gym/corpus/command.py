# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of tools: the output, or one line with the reason of a failure."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlcb_gym.errors import ProgramError
from mlcb_gym.toolchain import starting

#: Far more than any one module takes.
TOOL_SECONDS = 600.0


def run(
    command: Sequence[str | Path],
    *,
    subject: str,
    folder: Path | None = None,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    seconds: float = TOOL_SECONDS,
) -> bytes:
    """Run a tool and return what it wrote to standard output.

    Args:
        subject: what the tool works on.
        folder: where it runs.
        environment: variables beside those of this process.

    Raises:
        ProgramError: one line that names ``subject``: the tool failed, or did not end within ``seconds``.
        OSError: it cannot be started; names it.
    """
    # C.UTF-8: the first error must read the same everywhere.
    variables = {**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})}
    name = Path(command[0]).name
    try:
        with starting(command[0]):
            done = subprocess.run(command, check=False, cwd=folder, input=stdin, capture_output=True, env=variables, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{subject}: {name} did not end within {seconds:g} s") from None
    if done.returncode:
        raise ProgramError(f"{subject}: {_first_error(done.stderr) or f'{name} ended with {done.returncode}'}")
    return done.stdout


def _first_error(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").splitlines()
    return next((line for line in lines if "error:" in line or "undefined" in line), lines[0] if lines else "").strip()
