# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What asking a policy about every call costs: in `opt`, and in an episode of `Inliner-v0`, against LLVM's own channel too."""

from collections.abc import Iterator

from benchmarks import episodes
from benchmarks.deployment import Costs
from benchmarks.report import Figure
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.policies import shipped


def figures() -> Iterator[Figure]:
    costs = Costs.of(shipped()["inliner"], "default<Oz>")
    yield Figure("compile time with the policy / default<Oz>, median", costs.median, "x", 1.15, note=costs.note)
    yield Figure("compile time with the policy / default<Oz>, 90th percentile", costs.high, "x")
    yield Figure("start-up of opt with the policy", 1e3 * costs.policy_start, "ms", note=f"without: {1e3 * costs.oz_start:.1f} ms")
    yield from episodes.outside_llvm(InlinerEnv)
    yield from episodes.per_second(InlinerEnv)
