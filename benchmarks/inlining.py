# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What asking a policy about every call costs: in `opt`, and in an episode of `Inliner-v0`, against LLVM's own channel too."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import episodes
from benchmarks.deployment import START_INCLUDED, START_OFF, costs
from benchmarks.report import Figure
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.policies import shipped

MUST = 1.15


def figures() -> Iterator[Figure]:
    policy = shipped()["inliner"]
    with tempfile.TemporaryDirectory() as folder:
        _, (ahead, runtime) = costs("default<Oz>", f"aot:{compile_policy(policy, Path(folder) / 'inliner.so')}", f"onnx:{policy}")
    yield Figure("compile time of the policy ahead of time / default<Oz>, median", ahead.with_start, "x", MUST, note=START_INCLUDED)
    yield Figure("the same in ONNX Runtime", runtime.with_start, "x", note=START_INCLUDED)
    yield Figure("ahead of time / default<Oz>, median", ahead.median, "x", note=START_OFF)
    yield Figure("in ONNX Runtime / default<Oz>, median", runtime.median, "x", MUST, note=START_OFF)
    yield from episodes.outside_llvm(InlinerEnv)
    yield from episodes.per_second(InlinerEnv)
