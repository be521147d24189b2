# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What asking a policy about every call costs: in `opt`, and in an episode of `Inliner-v0`, against LLVM's own channel too."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.deployment import Costs
from benchmarks.report import Figure
from benchmarks.step import INSTRUCTIONS, programs_of_about
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.errors import NoDecisions
from mlcb_gym.policies import shipped

EPISODES, SMALL, PROGRAMS, SEED = 10, 1000, 12, 1


class TimedInlinerEnv(InlinerEnv):
    """Tells what LLVM worked, and measures nothing else."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(reward="none", **arguments)
        self._request = replace(self._request, metrics=("llvm_seconds",))


def figures() -> Iterator[Figure]:
    costs = Costs.of(shipped()["inliner"], "default<Oz>")
    yield Figure("compile time with the policy / default<Oz>, median", costs.median, "x", 1.15, note=costs.note)
    yield Figure("compile time with the policy / default<Oz>, 90th percentile", costs.high, "x")
    yield Figure("start-up of opt with the policy", 1e3 * costs.policy_start, "ms", note=f"without: {1e3 * costs.oz_start:.1f} ms")
    outside, episode = _outside(programs_of_about(INSTRUCTIONS))
    note = f"{episode * 1e3:.0f} ms, {INSTRUCTIONS} instructions, nothing measured"
    yield Figure("of an episode outside LLVM, median", outside, "of 1", 0.15, 0.05, note=note)
    small = _asked_about(_small_programs())
    plugin, stock = (_episodes_per_second(small, compiler) for compiler in ("plugin", "stock"))
    note = f"{len(small)} modules under {SMALL} instructions, nothing measured"
    yield Figure("episodes per second, worker / a stock opt for each", plugin / stock, "x", 3, 8, higher=True, note=note)
    yield Figure("episodes per second, worker", plugin, "1/s")
    yield Figure("episodes per second, stock opt", stock, "1/s")


def _small_programs() -> list[Program]:
    modules = [module for module in corpora.manifest("default") if module.instructions < SMALL]
    drawn = np.random.default_rng(SEED).permutation(len(modules))
    return [resolve(modules[i].uri)[0] for i in drawn[: 3 * PROGRAMS]]


def _asked_about(programs: Sequence[Program]) -> list[Program]:
    """Those that leave something to decide."""
    with closing(TimedInlinerEnv(programs=programs)) as env:
        return [program for program in programs if _begins(env, program)][:PROGRAMS]


def _begins(env: InlinerEnv, program: Program) -> bool:
    try:
        env.reset(options={"program": program})
    except NoDecisions:
        return False
    return True


def _outside(programs: Sequence[Program]) -> tuple[float, float]:
    """The median share of an episode that is not LLVM's work, and the median seconds of one."""
    shares, seconds = [], []
    with closing(TimedInlinerEnv(programs=programs)) as env:
        for program in programs:
            _play(env, program)  # so that the worker knows the module
            for _ in range(EPISODES):
                started = time.perf_counter()
                worked = _play(env, program)
                seconds.append(time.perf_counter() - started)
                shares.append(1 - worked / seconds[-1])
    return float(np.median(shares)), float(np.median(seconds))


def _episodes_per_second(programs: Sequence[Program], compiler: str) -> float:
    with closing(InlinerEnv(programs=programs, reward="none", compiler=compiler)) as env:
        for program in programs:
            _play(env, program)
        started = time.perf_counter()
        for program in programs:
            for _ in range(EPISODES):
                _play(env, program)
        return EPISODES * len(programs) / (time.perf_counter() - started)


def _play(env: InlinerEnv, program: Program) -> float:
    """An episode of LLVM's own answers; what LLVM worked, where that is told."""
    observation, info = env.reset(options={"program": program})
    worked, ended = float(info.get("llvm_seconds", 0.0)), False
    while not ended:
        observation, _, terminated, truncated, info = env.step(env.default_action(observation))
        worked += float(info.get("llvm_seconds", 0.0))
        ended = terminated or truncated
    return worked
