# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cost of the shipped policy inside `opt`, and of one question to a model."""

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Figure
from mlcb_gym import _native, toolchain
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.spec import TaskSpec

PROGRAMS, REPEATS, QUERIES, SEED = 40, 5, 2000, 1
START_OFF, START_INCLUDED = (f"{PROGRAMS} test modules, start-up {what}" for what in ("taken off", "included"))
TINY = """
static int square(int x) { return x * x; }
int norm(int x, int y) { return square(x) + square(y); }
"""
"""Little to compile, but with something to ask about."""


@dataclass(frozen=True)
class Costs:
    """The cost of a runner in ``opt``: seconds of its start-up, and its compile times to those of -Oz with that and without."""

    start: float
    with_start: float
    median: float
    high: float
    """The 90th percentile, without."""

    @classmethod
    def of(cls, seconds: NDArray[np.float64], oz: NDArray[np.float64]) -> "Costs":
        """From those of the start-up and of each program."""
        without = (seconds[1:] - seconds[0]) / (oz[1:] - oz[0])
        return cls(float(seconds[0]), float(np.median(seconds[1:] / oz[1:])), float(np.median(without)), float(np.quantile(without, 0.9)))


def costs(passes: str, *runners: str) -> tuple[float, list[Costs]]:
    """The seconds that -Oz takes to start, and what each runner costs: all run in turns."""
    rng = np.random.default_rng(SEED)
    test = resolve("default/test")
    programs = [test[i] for i in rng.permutation(len(test))[:PROGRAMS]]
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny.c"
        tiny.write_text(TINY)
        (start,) = resolve(tiny)
        oz, *others = np.transpose([fastest(_oz(program), *(_with(runner, passes, program) for runner in runners)) for program in [start, *programs]])
    return float(oz[0]), [Costs.of(seconds, oz) for seconds in others]


def figures() -> Iterator[Figure]:
    policy = shipped()["posetrl"]
    oz_start, (cost,) = costs("posetrl", f"onnx:{policy}")
    yield Figure("compile time of the policy / default<Oz>, median", cost.median, "x", 2, 1.3, note=START_OFF)
    yield Figure("compile time of the policy / default<Oz>, 90th percentile", cost.high, "x", note=START_OFF)
    yield Figure("start-up of opt", 1e3 * oz_start, "ms")
    yield Figure("start-up of opt with the policy", 1e3 * cost.start, "ms", note="plugin, ONNX Runtime, model, vocabulary, pipelines")
    ours, raw = question_seconds(f"onnx:{policy}"), _raw_seconds(policy)
    yield Figure("query of the model / raw ONNX Runtime call", ours / raw, "x", 1.3, note=f"{1e6 * ours:.1f} us, {1e6 * raw:.1f} us")


def _oz(program: Program) -> list[str | Path]:
    return [toolchain.tool("opt"), "-passes=default<Oz>", "-disable-output", program.bitcode]


def _with(runner: str, passes: str, program: Program) -> list[str | Path]:
    plugin = [f"-load-pass-plugin={toolchain.plugin()}", f"-passes={passes}", f"-mlcb-runner={runner}"]
    return [toolchain.tool("opt"), *plugin, "-disable-output", program.bitcode]


def fastest(*commands: Sequence[str | Path]) -> list[float]:
    """The seconds of each, run in turns: the fastest of several runs, for what the machine adds is never negative."""
    rounds = [[_seconds(command) for command in commands] for _ in range(REPEATS)]
    return list(np.min(rounds, axis=0))


def _seconds(command: Sequence[str | Path]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def question_seconds(uri: str) -> float:
    """Median seconds of a question to the first agent of a policy, through a runner of its own."""
    with closing(_native.Compiler.open(uri)) as compiler:
        observation = _observation(TaskSpec(compiler.spec))
        return _median(lambda: compiler.observe(0, observation))


def _raw_seconds(policy: Path) -> float:
    """Median seconds of ONNX Runtime's own call, on the same observation."""
    (session,) = OnnxPolicy(policy).sessions
    with closing(_native.Compiler.open(f"onnx:{policy}")) as compiler:
        observation = _observation(TaskSpec(compiler.spec))
    feed = {name: observation[name][np.newaxis] for name in (i.name for i in session.get_inputs())}
    return _median(lambda: session.run(None, feed))


def _observation(spec: TaskSpec) -> dict[str, NDArray[np.generic]]:
    """An observation of the first agent in which every action is allowed, and all else is 0."""
    return {t.name: np.full(t.shape, t.role == "mask", t.dtype) for t in spec.agents[0].inputs}


def _median(call: Callable[[], object]) -> float:
    times = []
    for _ in range(QUERIES):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return float(np.median(times))
