# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever is built, from whatever, with whatever flags and policies: what a user can observe is what stock lets them observe."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from allpairspy import AllPairs

from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from tests.support.matrix import LEVELS, POLICIES, SOURCES, WAYS, Build

FAST = 40
"""The first cases have the most new pairs each; the others run by `make check-slow`."""


def cases() -> Iterator[object]:
    """Yield cases in which each two values of two dimensions meet."""
    for number, (way, source, policies, level) in enumerate(AllPairs([list(WAYS), list(SOURCES), list(POLICIES), list(LEVELS)])):
        marks = [] if number < FAST else [pytest.mark.slow]
        yield pytest.param(way, source, policies, level, id=f"{source}, {level} {way}, {policies}", marks=marks)


@pytest.mark.parametrize(("way", "source", "policies", "level"), list(cases()))
def test_it_is_as_stock(way: str, source: str, policies: str, level: str, tmp_path: Path) -> None:
    guard = policies.endswith("guarded")
    alone = "loop_distribution" if guard else "posetrl"  # it has no guard; one other takes the place of the optimizations
    tasks = [task for task in shipped() if policies.startswith(task) or (policies.startswith("all") and task != alone)]
    config = tmp_path / "mlcb.cfg"
    write_clang_config(config, [shipped()[task] for task in tasks], guard=guard, lto="lto" in way)
    config.write_text(f"{config.read_text()}-Wno-backend-plugin\n")  # or clang says what policies were not taught for
    seen = []
    for name, used in (("stock", None), ("ours", config)):
        build = Build(tmp_path / name / "build", SOURCES[source], level, used)
        seen.append(WAYS[way](build, build.prepare()))
    assert seen[1] == seen[0]


def test_all_pairs_are_few_enough() -> None:
    assert len(WAYS) * len(SOURCES) <= len(list(cases())) <= 300
