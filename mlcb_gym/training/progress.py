# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The display of a run: a progress bar and TensorBoard."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter


class Display:
    """A context manager around a run of ``iterations``."""

    def __init__(self, folder: Path, *, title: str, iterations: int, done: int, console: Console | None = None) -> None:
        self._writer = SummaryWriter(str(folder))
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[status]}"),
            console=console,
        )
        self._task = self._progress.add_task(title, total=iterations, completed=done, status="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()
        self._writer.close()

    def advance(self, step: int, scalars: Mapping[str, float], status: str) -> None:
        """Show that an iteration is done: ``scalars`` go to TensorBoard at environment step ``step``, ``status`` beside the bar."""
        for name, value in scalars.items():
            self._writer.add_scalar(name, value, step)
        self._progress.update(self._task, advance=1, status=status)
