# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `mlcb` command as a user runs it."""

import subprocess
import sys
from pathlib import Path


def mlcb(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "mlcb_gym", *arguments], capture_output=True, text=True, timeout=120)
