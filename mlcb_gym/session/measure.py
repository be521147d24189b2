# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a module comes to, measured outside of any episode by the code that measures in one."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from mlcb_gym import _native, toolchain
from mlcb_gym.session.request import EpisodeRequest, Limits
from mlcb_gym.session.worker import WorkerSession

_TASK = "posetrl"
"""Its first state, before any decision, is the module; it has all metrics of code."""


class ModuleMeasure:
    """Measures modules in a worker, which is started when first needed: ``size``, ``text``, ``ir_instructions``, ``throughput``."""

    def __init__(self) -> None:
        self._worker = WorkerSession()

    def __call__(self, module: Path, metrics: Sequence[str], limits: Limits = Limits()) -> dict[str, float]:
        """The metrics of a bitcode file by name; measuring it may use as much as an episode.

        Raises:
            CompilerError: it is no bitcode, or does not compile.
            SessionLost: the worker cannot be reached.
        """
        parameters = {"actions": ["stop"], "vocabulary": _native.digest(toolchain.vocabulary().read_bytes())}
        spec = self._worker.configure(_TASK, parameters)
        with closing(self._worker.begin(spec, EpisodeRequest(module, tuple(metrics), limits=limits))) as episode:
            return dict(episode.receive().metrics)

    def close(self) -> None:
        """Ends the worker. May be called twice."""
        self._worker.close()
