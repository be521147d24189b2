# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiler that asks a server of the test."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlcb_gym.session import ModelServer


def answered(
    command: Callable[[str], Sequence[str | Path]],
    model: Callable[[str, Mapping[str, Any]], int | float],
    folder: Path,
    *,
    task: str,
    quiet: bool = False,
) -> None:
    """Runs a compiler, whose command is told the server's URI, to its end, and answers what it asks about a task."""
    uri = f"pipe:{folder / 'channel'}"
    with ModelServer(uri, only=task) as server:
        compiler = subprocess.Popen(command(uri), stderr=subprocess.DEVNULL if quiet else None)
        try:
            server.answer(model, seconds=60)
            assert compiler.wait(60) == 0
        finally:
            compiler.kill()
            compiler.wait()
