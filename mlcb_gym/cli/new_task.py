# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb new-task``: the four files of a task."""

from pathlib import Path
from typing import Annotated

import typer


def new_task(
    name: Annotated[str, typer.Argument(help="The name of the task in lower case, as size_attributes.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A package of its own; by default this checkout.")] = None,
) -> None:
    """Write a task that builds, trains and deploys as it is: fill in its features, its effect and its reward."""
    from mlcb_gym.tools.new_task import write_task

    for path in write_task(name, output):
        print(path)
    if output is None:
        print(f"then: make setup && mlcb check {name}")
    else:
        package = ".".join(output.parts)
        extra = f"-C cmake.define.MLCB_EXTRA_TASKS={output.resolve()}"
        print(f"then: pip install 'SOURCES[train,aot]' {extra}, where SOURCES is a checkout or the unpacked sdist,")
        print(f"and, in this folder: MLCB_TASKS={package} python -m mlcb_gym check {name}")
