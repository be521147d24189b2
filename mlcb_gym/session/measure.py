# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Metrics of a module outside of any episode, by the same code as in one."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from mlcb_gym.session.request import EpisodeRequest, Limits
from mlcb_gym.session.worker import WorkerSession


class ModuleMeasure:
    """Measures modules in a worker, which is started when first needed.

    Args:
        task: a task whose first observation comes with metrics of the module as it was given.
        parameters: the parameters that it is bound with.
    """

    def __init__(self, task: str, parameters: Mapping[str, Any]) -> None:
        self._task, self._parameters = task, parameters
        self._worker = WorkerSession()

    def __call__(self, module: Path, metrics: Sequence[str], limits: Limits = Limits()) -> dict[str, float]:
        """Return the metrics of a bitcode file by name. To measure them may use as much as an episode.

        Raises:
            CompilerError: it is no bitcode, or does not compile.
            SessionLost: the worker cannot be reached.
        """
        spec = self._worker.configure(self._task, self._parameters)
        with closing(self._worker.begin(spec, EpisodeRequest(module, tuple(metrics), limits=limits))) as episode:
            return dict(episode.receive().metrics)

    def close(self) -> None:
        """Ends the worker. May be called twice."""
        self._worker.close()
