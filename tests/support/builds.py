# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds as a user has them: clang, with a configuration or without."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from mlcb_gym import toolchain


def clang(config: Path | None, folder: Path, *options: str | Path, driver: str = "clang") -> subprocess.CompletedProcess[str]:
    configured = [] if config is None else [f"--config={config}"]
    return run([toolchain.tool(driver), *configured, *options], folder)


def run(command: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done
