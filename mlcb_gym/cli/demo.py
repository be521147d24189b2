# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb demo``: the whole way of a policy, in minutes."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder of all that it makes; what an earlier demo left there is replaced.")
    ] = Path("runs/demo"),
    minutes: Annotated[float, typer.Option(min=0.01, help="Of training.")] = 3,
) -> None:
    """Train a policy, export it, let it decide inside clang on programs that it never saw, and draw what came of it.

    Without clang 22, as with the wheel alone, the environment compiles them.
    """
    from rich.console import Console

    from mlcb_gym.demo import demonstrate, emptied

    demonstrate(emptied(output), minutes=minutes, console=Console())
