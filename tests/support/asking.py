# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stock tools with the plugin, which ask a policy or a server of the test's."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mlcb_gym import toolchain
from mlcb_gym.session import ModelServer

SECONDS = 60.0


def with_policy(command: Sequence[str | Path], uri: str) -> list[str | Path]:
    """The command of opt, llc or clang with what has it ask."""
    tool, runner, plugin = Path(command[0]).name.partition("-")[0], f"-mlcb-runner={uri}", toolchain.plugin()
    options = {"opt": [f"-load-pass-plugin={plugin}", runner], "llc": [f"-load={plugin}", runner]}
    return [command[0], *options.get(tool, [f"-fpass-plugin={plugin}", "-mllvm", runner]), *command[1:]]


def compile_asking(command: Sequence[str | Path], task: str, model: Callable[[str, Any], int | float], folder: Path) -> None:
    """Runs a compiler that asks a model here about a task."""
    base = folder / "channel"
    with ModelServer(f"pipe:{base}", only=task) as server:
        compiler = subprocess.Popen(with_policy(command, f"pipe:{base}"), stderr=subprocess.DEVNULL)
        try:
            server.answer(model, seconds=SECONDS)
            assert compiler.wait(SECONDS) == 0
        finally:
            compiler.kill()
            compiler.wait()
