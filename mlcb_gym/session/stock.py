# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes in an untouched `opt`, `clang` or `llc`, whose own advisor asks over LLVM's interactive channel: a process for each."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mlcb_gym import _native
from mlcb_gym.errors import SessionLost, TaskError
from mlcb_gym.session.episode import Episode, translated
from mlcb_gym.session.process import ToolProcess
from mlcb_gym.session.request import EpisodeRequest
from mlcb_gym.spec import TaskSpec, bind

Measure = Callable[[Path], Mapping[str, float]]

INLINER = ("-enable-ml-inliner=release", "-inliner-interactive-channel-base={base}", "-inliner-interactive-include-default")
EVICTION = ("-regalloc-enable-advisor=release", "-regalloc-evict-interactive-channel-base={base}")
PRIORITY = ("-regalloc-enable-priority-advisor=release", "-regalloc-priority-interactive-channel-base={base}")
"""What makes an advisor of LLVM 22 ask over the channel ``{base}``; in clang each comes behind ``-mllvm``."""


class StockSession:
    """A tool of LLVM's for each episode, with a task that declares what its advisor asks: the inputs of its one agent by name.

    A mask that LLVM does not send bars nothing. The episode ends when the compiler does; no decision at all is an end, too.

    Args:
        tool: opt, clang or llc.
        arguments: its command line, but for the program, the output and the advisor: ``["-passes=scc-oz-module-inliner"]``.
        advisor: who asks: INLINER, EVICTION or PRIORITY.
        measure: from what the compiler wrote to the metrics of the episode's end; a stock compiler knows none.
        keep: where the output of an episode goes when it ends well; the last episode's is there.
    """

    def __init__(
        self, tool: str, arguments: Sequence[str], *, advisor: Sequence[str], measure: Measure | None = None, keep: Path | None = None
    ) -> None:
        self._tool, self._measure, self._keep = tool, measure, keep
        self._arguments = [*arguments, *(word for option in advisor for word in (("-mllvm", option) if tool == "clang" else (option,)))]

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task; whether the compiler asks what it declares, an episode's first observation says."""
        return bind(task, parameters)

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts the compiler on the program.

        Raises:
            TaskError: the request asks for what a stock compiler does not know.
            SessionLost: the compiler cannot be started.
        """
        if request != EpisodeRequest(request.program, request.metrics, request.measure, limits=request.limits):
            raise TaskError("a stock compiler takes no barred actions and no target, and verifies nothing: use the worker")
        if request.metrics and (self._measure is None or request.measure != "end"):
            raise TaskError(f"a stock compiler measures {', '.join(request.metrics)} at the end alone, where it is told how: use the worker")
        return StockEpisode(spec, request, self._start(request), self._measure, self._keep)

    def close(self) -> None:
        """Nothing is left: every compiler ends with its episode."""

    def _start(self, request: EpisodeRequest) -> ToolProcess:
        def arguments(base: Path, output: Path) -> list[str | Path]:
            return [*(argument.replace("{base}", str(base)) for argument in self._arguments), request.program, "-o", output]

        with translated():
            return ToolProcess(self._tool, arguments, request.limits)


class StockEpisode(Episode):
    """One run of a stock compiler, which is the episode's from now on."""

    def __init__(self, spec: TaskSpec, request: EpisodeRequest, tool: ToolProcess, measure: Measure | None, keep: Path | None) -> None:
        self._tool, self._measure, self._keep = tool, measure, keep
        self._state: dict[str, Any] | None = None
        with ExitStack() as started:
            started.callback(tool.close)
            with translated():
                host = _native.MlgoHost(str(tool.base), tool.pid, spec.json)
            super().__init__(host, spec, request)
            started.pop_all()

    def receive(self) -> _native.Message:
        try:
            return super().receive()
        except SessionLost as lost:
            if isinstance(lost.__cause__, _native.SpecMismatch):
                raise TaskError(str(lost)) from lost.__cause__
            raise (self._tool.cause(lost) if isinstance(lost.__cause__, _native.PeerGone) else lost) from lost.__cause__

    def fork(self) -> Episode:
        """Impossible.

        Raises:
            TaskError: always.
        """
        raise TaskError("a stock compiler cannot be cloned: use the worker")

    def close(self) -> None:
        """Ends the compiler before its channel: without one it would spin."""
        self._tool.close()
        super().close()

    def _hear(self) -> _native.Message | None:
        message = super()._hear()
        assert message is not None  # no introduction here: whom it started, the session knows
        if message.kind == "bye":
            return self._end()
        self._state = message.tensors
        return message

    def _end(self) -> _native.Message:
        """The last state again, and what is measured of what the compiler wrote."""
        self._tool.finish(self._turn_seconds)
        metrics = dict(self._measure(self._tool.output)) if self._measure else {}
        self._tool.keep(self._keep)
        return _native.Message("episode_end", self._state or {}, metrics, "exhausted" if self._state else "no_decisions")
