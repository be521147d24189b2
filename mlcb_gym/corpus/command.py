# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of tools: the output, or one line with the reason of a failure."""

import os
import resource
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlcb_gym.errors import ProgramError
from mlcb_gym.limits import lower
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
    memory_bytes: int | None = None,
) -> bytes:
    """Run a tool and return what it wrote to standard output.

    Args:
        subject: what the tool works on.
        folder: where it runs.
        environment: variables beside those of this process.
        memory_bytes: the address space of the tool, where it has less than now.

    Raises:
        ProgramError: one line that names ``subject``: the tool failed, or did not end within ``seconds``.
        OSError: it cannot be started; names it.
    """
    # C.UTF-8: the first error must read the same everywhere.
    variables = {**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})}
    name = Path(command[0]).name
    try:
        with starting(command[0]):
            tool = subprocess.Popen(command, cwd=folder, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with tool:
            output, errors = _communicate(tool, stdin, seconds, memory_bytes)
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{subject}: {name} did not end within {seconds:g} s") from None
    if tool.returncode:
        raise ProgramError(f"{subject}: {_first_error(errors) or f'{name} ended with {tool.returncode}'}")
    return output


def _communicate(tool: "subprocess.Popen[bytes]", stdin: bytes, seconds: float, memory_bytes: int | None) -> tuple[bytes, bytes]:
    """Return what a tool writes to standard output and error until its end."""
    try:
        if memory_bytes is not None:
            lower(tool.pid, resource.RLIMIT_AS, memory_bytes, memory_bytes)
        return tool.communicate(stdin, seconds)
    finally:
        tool.kill()  # which has no effect once it has ended


def _first_error(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").splitlines()
    return next((line for line in lines if "error:" in line or "undefined" in line), lines[0] if lines else "").strip()
