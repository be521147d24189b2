# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bounds of workers and of all that runs in them, as docs/security.md has them."""

import os
import subprocess
from enum import StrEnum
from functools import cache

from mlcb_gym import toolchain
from mlcb_gym.errors import TaskError, ToolchainError

VARIABLE = "MLCB_SANDBOX"
START_SECONDS = 60.0


class Sandbox(StrEnum):
    """How much of the bounds there must be.

    ``whole``: all, or no worker starts. ``partial``: as much as the kernel has; a line on stderr says what it lacks. ``none``: nothing.
    """

    WHOLE = "whole"
    PARTIAL = "partial"
    NONE = "none"


def chosen(asked: str | None) -> Sandbox:
    """Return the sandbox that was asked for, by default that of the environment variable ``MLCB_SANDBOX``, else a partial one.

    Raises:
        TaskError: there is no such sandbox.
    """
    name = asked or os.environ.get(VARIABLE) or Sandbox.PARTIAL
    try:
        return Sandbox(name)
    except ValueError:
        raise TaskError(f"{'sandbox' if asked else VARIABLE}={str(name)!r}: expected {', '.join(Sandbox)}") from None


def require(sandbox: Sandbox) -> None:
    """Does nothing where a worker can enter this sandbox.

    Raises:
        ToolchainError: a whole one is demanded of a kernel that lacks a part.
    """
    if sandbox is Sandbox.WHOLE and (why := refusal()):
        raise ToolchainError(f"{why}; sandbox partial does without that, none without all")


@cache
def refusal() -> str:
    """Return the error of a worker that enters a whole sandbox, and ends because nobody is there to talk to; empty where it has none."""
    command = [str(toolchain.worker()), "--control-fd=0", f"--sandbox={Sandbox.WHOLE}"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=START_SECONDS, check=False).stderr.strip()
