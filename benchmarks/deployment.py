# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the shipped policy costs inside `opt`, and what one question to its model costs."""

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import Figure
from mlcb_gym import _native, toolchain
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.export.parity import OnnxPolicy
from mlcb_gym.policies import shipped
from mlcb_gym.spec import TaskSpec

PROGRAMS, REPEATS, QUERIES, SEED = 40, 5, 2000, 1


@dataclass(frozen=True)
class Costs:
    """What a policy costs in ``opt``: ``median`` and ``high``, the 90th percentile, of its compile times to those of -Oz, start-up taken off."""

    median: float
    high: float
    oz_start: float
    policy_start: float
    note: str = f"{PROGRAMS} test modules, start-up taken off"

    @classmethod
    def of(cls, policy: Path, passes: str) -> "Costs":
        rng = np.random.default_rng(SEED)
        test = resolve("default/test")
        programs = [test[i] for i in rng.permutation(len(test))[:PROGRAMS]]
        with tempfile.TemporaryDirectory() as folder:
            tiny = Path(folder) / "tiny.c"
            tiny.write_text("int f(int a) { return a + 1; }\n")
            (start,) = resolve(tiny)
            oz_start, policy_start = seconds(_oz(start)), seconds(_with(policy, passes, start))
            times = np.array([(seconds(_with(policy, passes, program)), seconds(_oz(program))) for program in programs])
        ratios = (times[:, 0] - policy_start) / (times[:, 1] - oz_start)
        return cls(float(np.median(ratios)), float(np.quantile(ratios, 0.9)), oz_start, policy_start)


def figures() -> Iterator[Figure]:
    policy = shipped()["posetrl"]
    costs = Costs.of(policy, "posetrl")
    yield Figure("compile time of the policy / default<Oz>, median", costs.median, "x", 2, 1.3, note=costs.note)
    yield Figure("compile time of the policy / default<Oz>, 90th percentile", costs.high, "x")
    yield Figure("start-up of opt", 1e3 * costs.oz_start, "ms")
    yield Figure("start-up of opt with the policy", 1e3 * costs.policy_start, "ms", note="plugin, ONNX Runtime, model, vocabulary, pipelines")
    ours, raw = _query_seconds(policy)
    yield Figure("query of the model / raw ONNX Runtime call", ours / raw, "x", 1.3, note=f"{1e6 * ours:.1f} us, {1e6 * raw:.1f} us")


def _oz(program: Program) -> list[str | Path]:
    return [toolchain.tool("opt"), "-passes=default<Oz>", "-disable-output", program.bitcode]


def _with(policy: Path, passes: str, program: Program) -> list[str | Path]:
    plugin = [f"-load-pass-plugin={toolchain.plugin()}", f"-passes={passes}", f"-mlcb-runner=onnx:{policy}"]
    return [toolchain.tool("opt"), *plugin, "-disable-output", program.bitcode]


def seconds(command: list[str | Path]) -> float:
    """The fastest of several runs: what the machine adds is never negative."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        subprocess.run(command, check=True)
        times.append(time.perf_counter() - started)
    return min(times)


def _query_seconds(policy: Path) -> tuple[float, float]:
    """Median seconds of a question through our runner, and of ONNX Runtime's own call, on the same observation."""
    compiler = _native.Compiler.open(f"onnx:{policy}")
    (session,) = OnnxPolicy(policy).sessions
    tensors = TaskSpec(compiler.spec).agents[0].inputs
    observation = {t.name: np.full(t.shape, t.role == "mask", t.dtype) for t in tensors}
    feed = {name: observation[name][np.newaxis] for name in (i.name for i in session.get_inputs())}
    ours = _median(lambda: compiler.observe(0, observation))
    return ours, _median(lambda: session.run(None, feed))


def _median(call: Callable[[], object]) -> float:
    times = []
    for _ in range(QUERIES):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return float(np.median(times))
