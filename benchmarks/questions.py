# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cost of a question to the first agent of each policy that ships, in a compiler's own process."""

from collections.abc import Iterator

from benchmarks.deployment import question_seconds
from benchmarks.report import Figure
from mlcb_gym.export.aot import compiled
from mlcb_gym.policies import shipped


def figures() -> Iterator[Figure]:
    for task, policy in shipped().items():
        file = compiled(policy)
        note = f"ONNX Runtime: {1e6 * question_seconds(f'onnx:{policy}'):.1f} us; the compiled policy has {file.stat().st_size // 1024} KB"
        yield Figure(f"{task}, compiled ahead of time", 1e6 * question_seconds(f"aot:{file}"), "us", note=note)
