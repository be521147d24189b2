# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What asking a policy about every call costs: in `opt`, and in an episode of `Inliner-v0`, against LLVM's own channel too."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import episodes
from benchmarks.deployment import PROGRAMS, Costs
from benchmarks.report import Figure
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.policies import shipped

MUST = 1.15


def figures() -> Iterator[Figure]:
    policy = shipped()["inliner"]
    with tempfile.TemporaryDirectory() as folder:
        ahead = Costs.of(f"aot:{compile_policy(policy, Path(folder) / 'inliner.so')}", "default<Oz>")
    runtime = Costs.of(f"onnx:{policy}", "default<Oz>")
    modules = f"{PROGRAMS} test modules"
    yield Figure("compile time of the policy ahead of time / default<Oz>, median", ahead.with_start, "x", MUST, note=f"{modules}, start-up included")
    yield Figure("the same in ONNX Runtime", runtime.median, "x", MUST, note=f"{modules}, start-up taken off")
    yield Figure("the same, 90th percentile", runtime.high, "x")
    yield Figure("start-up of opt with ONNX Runtime", 1e3 * runtime.runner_start, "ms", note=f"without: {1e3 * runtime.oz_start:.1f} ms")
    yield from episodes.outside_llvm(InlinerEnv)
    yield from episodes.per_second(InlinerEnv)
