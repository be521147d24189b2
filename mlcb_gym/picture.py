# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures that are drawn without a display."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlcb_gym.atomic import replacing


@contextmanager
def picture(path: Path, size: tuple[float, float], rows: int = 1, **arguments: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes, and write what the block drew there to a file, whole or not at all.

    Args:
        size: width and height in inches.
        rows: how many axes, one below another.
        arguments: as of matplotlib's ``Figure.subplots``.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    yield figure, figure.subplots(rows, **arguments)
    with replacing(path) as unfinished:
        figure.savefig(unfinished, format=path.suffix.removeprefix("."), dpi=120)
