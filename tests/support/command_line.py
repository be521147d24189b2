# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `mlcb` command as a user runs it."""

import subprocess
import sys
from pathlib import Path


def mlcb(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "mlcb_gym", *arguments], capture_output=True, text=True, timeout=120)


def assert_one_line(done: subprocess.CompletedProcess[str], said: str) -> None:
    """Checks that a command failed with one line that says this."""
    assert done.returncode == 1
    assert done.stderr.startswith("mlcb: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
