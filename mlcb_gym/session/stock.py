# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes of LLVM's own advisors in an untouched `opt`, `clang` or `llc`, over LLVM's interactive channel: a process for each."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mlcb_gym import _native
from mlcb_gym.errors import CompilerError, SessionLost, TaskError
from mlcb_gym.session.episode import Episode, translated
from mlcb_gym.session.measure import ModuleMeasure
from mlcb_gym.session.request import EpisodeRequest, Target
from mlcb_gym.session.tool_process import ToolProcess
from mlcb_gym.spec import TaskSpec, bind

Measure = Callable[[Path, Sequence[str]], Mapping[str, float]]
"""From the output of a compiler, and names, to metrics."""

INLINER = ("-enable-ml-inliner=release", "-inliner-interactive-channel-base={base}", "-inliner-interactive-include-default")
EVICTION = ("-regalloc-enable-advisor=release", "-regalloc-evict-interactive-channel-base={base}")
PRIORITY = ("-regalloc-enable-priority-advisor=release", "-regalloc-priority-interactive-channel-base={base}")
"""The options that connect an advisor of LLVM 22 to the channel ``{base}``; in clang each comes behind ``-mllvm``."""

DEFAULT = "_default"
"""Suffix of a metric of the same command's output without an advisor."""


class StockSession:
    """A tool of LLVM's for each episode, with a task that declares the tensors of its advisor by name.

    A mask that LLVM does not send allows every action. The episode ends when the compiler does, even without any decision.

    Args:
        tool: opt, clang or llc.
        arguments: its command line, but for the program, the output and the advisor; ``"-passes={pipeline}"`` holds a parameter of the task,
            and a name in braces that is none is a TaskError.
        advisor: INLINER, EVICTION or PRIORITY.
        measure: measures what the compiler wrote at the end of an episode; a ``ModuleMeasure`` suits ``opt``, and is closed with the session. A
            metric ``NAME_default`` is ``NAME`` of what the command makes without the advisor.
        keep: the file that the output of an episode is moved to, when it ends without an error.
    """

    takes_models: ClassVar[bool] = False

    def __init__(
        self, tool: str, arguments: Sequence[str], *, advisor: Sequence[str], measure: Measure | ModuleMeasure | None = None, keep: Path | None = None
    ) -> None:
        self._tool, self._arguments, self._keep = tool, tuple(arguments), keep
        self._advisor = [word for option in advisor for word in (("-mllvm", option) if tool == "clang" else (option,))]
        self._measure = measure
        self._defaults: dict[tuple[object, ...], dict[str, float]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "StockSession":
        return self  # gymnasium.make copies its arguments; a worker that measures is shared

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Binds the task; tensors that differ from those of the compiler are an error of the first observation.

        Raises:
            TaskError: the task cannot be bound, or the command line names what is no parameter of it.
        """
        spec = bind(task, parameters)
        self._command(spec, Path("channel"), advised=True)
        return spec

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts the compiler on the program.

        Raises:
            TaskError: the request has fields that a stock compiler does not know.
            SessionLost: the compiler cannot be started.
        """
        if replace(request, forbidden=(), target=Target(), verify=False) != request:
            raise TaskError("a stock compiler takes no forbidden actions and no target, and verifies nothing: use the worker")
        if request.metrics and request.measure != "end":
            raise TaskError(f"a stock compiler cannot be measured before its end: {', '.join(request.metrics)}: use the worker")
        if request.metrics and self._measure is None:
            raise TaskError(f"metrics {', '.join(request.metrics)}: expected a measure, as StockSession(measure=...)")
        tool = self._start(spec, request, advised=True)
        return StockEpisode(spec, request, tool, lambda: self._measured(spec, request, tool.output), self._keep)

    def close(self) -> None:
        """Ends the worker that measures; every compiler ends with its episode."""
        if isinstance(self._measure, ModuleMeasure):
            self._measure.close()

    def _start(self, spec: TaskSpec, request: EpisodeRequest, *, advised: bool) -> ToolProcess:
        def arguments(base: Path, output: Path) -> list[str | Path]:
            return [*self._command(spec, base, advised=advised), request.program, "-o", output]

        with translated():
            return ToolProcess(self._tool, arguments, request.limits)

    def _command(self, spec: TaskSpec, base: Path, *, advised: bool) -> list[str]:
        if "base" in spec.parameters:
            raise TaskError(f"{spec.task}: a parameter has the name 'base', which is the channel's in the command line of a stock compiler")
        values = {"base": base, **spec.parameters}

        def filled(name: re.Match[str]) -> str:
            if name[1] not in values:
                raise TaskError(f"{name.string!r}: {name[0]} is no parameter of {spec.task}, expected one of {', '.join(values)}")
            return str(values[name[1]])

        words = [*self._arguments, *(self._advisor if advised else ())]
        return [re.sub(r"\{(\w+)\}", filled, word) for word in words]

    def _measured(self, spec: TaskSpec, request: EpisodeRequest, output: Path) -> dict[str, float]:
        metrics = dict(self._default(spec, request))
        if own := [name for name in request.metrics if not name.endswith(DEFAULT)]:
            metrics |= self._measured_of(request, output, own)
        return metrics

    def _measured_of(self, request: EpisodeRequest, output: Path, names: Sequence[str]) -> Mapping[str, float]:
        assert self._measure is not None
        return self._measure(output, names, request.limits) if isinstance(self._measure, ModuleMeasure) else self._measure(output, names)

    def _default(self, spec: TaskSpec, request: EpisodeRequest) -> Mapping[str, float]:
        """The metrics of a program without an advisor, which are the same in every episode."""
        names = [name.removesuffix(DEFAULT) for name in request.metrics if name.endswith(DEFAULT)]
        key = (spec.json, request.program, Path(request.program).stat().st_mtime_ns, *names)
        known = self._defaults.get(key)
        if known is None and names:
            with closing(self._start(spec, request, advised=False)) as tool:
                tool.finish(request.limits.deadline)
                known = {f"{name}{DEFAULT}": value for name, value in self._measured_of(request, tool.output, names).items()}
            self._defaults[key] = known
        return known or {}


def finite(value: np.ndarray, high: float) -> np.ndarray:
    """Return LLVM's numbers with ``high`` for infinity, the weight of a range that must not be spilled, and 1 for infinity by infinity."""
    return np.nan_to_num(value, nan=1.0, posinf=high)


class StockEpisode(Episode):
    """One run of a stock compiler, which the episode ends; ``measured`` is called once it has written its output."""

    def __init__(
        self, spec: TaskSpec, request: EpisodeRequest, tool: ToolProcess, measured: Callable[[], dict[str, float]], keep: Path | None
    ) -> None:
        self._tool, self._measured, self._keep = tool, measured, keep
        self._state: dict[str, Any] | None = None
        with ExitStack() as started:
            started.callback(tool.close)
            with translated():
                host = _native.MlgoLearnerEnd(str(tool.base), tool.pid, spec.json)
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
        """Ends the compiler before its channel, without which it would spin."""
        self._tool.close()
        super().close()

    def _silent(self) -> CompilerError | SessionLost:
        late = self._tool.late(self._turn_seconds)
        lost = super()._silent()
        return late or lost

    def _understood(self, message: _native.Message) -> _native.Message:
        if message.kind == "bye":
            return self._end()
        for tensor in self._spec.declared["agents"][message.agent]["inputs"]:
            value = message.tensors.get(tensor["name"])
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                message.tensors[tensor["name"]] = finite(value, tensor.get("high", np.inf))
        self._state = message.tensors
        return super()._understood(message)

    def _end(self) -> _native.Message:
        """Return the last observation again, with the metrics of the output."""
        self._tool.finish(self._turn_seconds)
        decided = self._state is not None
        try:
            metrics = self._measured() if decided else {}
        except (CompilerError, OSError) as error:  # a fault of the baseline, the measure or the machine, not of the decisions
            raise SessionLost(str(error)) from error
        self._tool.keep(self._keep)
        return _native.Message("episode_end", self._state or {}, metrics, "exhausted" if decided else "no_decisions")
