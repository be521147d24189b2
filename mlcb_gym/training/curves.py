# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The curves of a run, for TensorBoard."""

import json
import threading
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from mlcb_gym.training.hyperparameters import hyperparameters

TENSORBOARD = "tensorboard"
"""The folder of the curves in that of a run."""
VALIDATION = "validation/ratio"
"""The curve that a run is judged by."""
SECONDS = "seconds/"
"""The beginning of the names of the curves of wall time, by part; a value is that of one update."""
ACTIONS = "train/actions"
"""The histograms of the actions taken; a bin is one action wide where these are indices."""


class Curves:
    """A context manager around the writer of a run's folder. Whatever stands there beyond ``steps`` is discarded: a resumed run writes it anew.

    Args:
        recipe: its hyperparameters are written into a folder without curves.
        steps: the environment steps that are behind the run.
    """

    def __init__(self, folder: Path, recipe: Any, *, steps: int) -> None:
        begun = any(folder.glob("events.out.tfevents.*"))
        self._writer = SummaryWriter(str(folder), purge_step=steps + 1 if begun else None)
        self._thread = self._writer._get_file_writer().event_writer._async_writer._worker
        if not begun:
            values = {each.key: _plain(each.default) for each in hyperparameters(recipe)}
            for summary in hparams({"algorithm": recipe.algorithm, **values}, {VALIDATION: 0.0}):
                self._writer._get_file_writer().add_summary(summary)

    def __enter__(self) -> Self:
        self._excepthook, threading.excepthook = threading.excepthook, self._failed
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._writer.close()
        finally:
            threading.excepthook = self._excepthook

    def _failed(self, failure: threading.ExceptHookArgs) -> None:
        """Leave it to the next call to raise what the writer's thread could not write; SummaryWriter would print it as well."""
        if failure.thread is not self._thread or not isinstance(failure.exc_value, OSError):
            self._excepthook(failure)

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        """Write the scalars that are finite, at an environment step."""
        for name, value in scalars.items():
            if isfinite(value):
                self._writer.add_scalar(name, value, step)

    def add_actions(self, step: int, actions: np.ndarray, number: int) -> None:
        """Write a histogram of the actions that were taken, of which there are ``number``; 0 for values."""
        if actions.size:
            self._writer.add_histogram(ACTIONS, actions, step, bins=np.arange(number + 1) - 0.5 if number else "auto")


def _plain(default: str) -> float | str:
    """Return a default as TensorBoard takes it: a number, or text."""
    value = json.loads(default)
    return value if isinstance(value, (bool, int, float, str)) else default
