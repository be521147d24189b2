# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Enumerate the allocations that four agents can make of small functions, and print how near each allocator comes to the best one."""

import argparse
import random
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import numpy as np

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs.record import Observation
from mlcb_gym.envs.regalloc import EXECUTED, beside
from mlcb_gym.envs.rl4real import RL4ReAlEnv
from mlcb_gym.errors import CompilerError, MlcbError
from mlcb_gym.evaluation.statistics import estimate
from mlcb_gym.search.decisions import Decision
from mlcb_gym.search.exhaustive import exhaustive_search
from mlcb_gym.spec import MASK, acting_agent

OTHERS = {"greedy, -regalloc-csr-first-time-cost=32768": "csr 32768", "basic": "basic", "fast": "fast", "PBQP": "pbqp"}
LEEWAY = 4
"""How many times the sequences that may be tried those of a function may be, as its first episode lets expect."""


class Allocators:
    """The environments in which a function is allocated. A context manager, which closes them."""

    def __init__(self, splits: int) -> None:
        self._ends = ExitStack()
        made = {name: RL4ReAlEnv(splits=splits, **beside(fixed, alone=True).arguments) for name, fixed in OTHERS.items()}
        self._own, self._others = RL4ReAlEnv(splits=splits), made
        for env in (self._own, *made.values()):
            self._ends.enter_context(closing(env))

    def __enter__(self) -> "Allocators":
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def from_best(self, function: Program, sequences: int) -> dict[str, float] | None:
        """Return each allocator's cost relative to that of the best allocation; None where not all can be tried, or greedy's has no cost.

        Raises:
            MlcbError: nothing is to be decided, or an allocator fails.
        """
        expected, heuristic = self._heuristic(function)
        if expected > LEEWAY * sequences or not heuristic[EXECUTED.default]:
            return None
        decisions = exhaustive_search(self._own, function, sequences=sequences)
        if not all(map(_is_complete, decisions)):
            return None
        best = min(decision.best for decision in decisions) * heuristic[EXECUTED.default]
        costs = {"greedy": heuristic[EXECUTED.default], "the heuristic of `rl4real`": heuristic[EXECUTED.name]}
        for name, env in self._others.items():
            deque(_heuristics_episode(env, function), maxlen=0)
            costs[name] = env.measured["executed_beside"]
        return {name: cost / best for name, cost in costs.items()}

    def _heuristic(self, function: Program) -> tuple[int, Mapping[str, float]]:
        """Return the number of sequences that a function is expected to have, as the heuristic's own shows them, and the costs of that."""
        expected, env = 1, self._own
        for observation in _heuristics_episode(env, function):
            expected *= int(acting_agent(observation)[1][MASK].sum())
        return expected, env.measured


def _heuristics_episode(env: RL4ReAlEnv, function: Program) -> Iterator[Observation]:
    """Play an episode by the heuristic; yield what each decision observes."""
    observation, _ = env.reset(options={"program": function})
    ended = False
    while not ended:
        yield observation
        observation, _, terminated, truncated, info = env.step(env.default_action(observation))
        ended = terminated or truncated
    if "error" in info:
        raise CompilerError(info["error"])


def _is_complete(decision: Decision) -> bool:
    """Whether every action was tried."""
    return bool(np.isfinite(decision.outcomes[np.flatnonzero(acting_agent(decision.observation)[1][MASK])]).all())


def main() -> int:
    """Print how near each allocator comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", help="modules, as of `mlcb evaluate --programs`")
    parser.add_argument("--functions", type=int, default=200, help="the functions of which all allocations are known, at most")
    parser.add_argument("--sequences", type=int, default=4096, help="the sequences of decisions that are tried of a function, at most")
    parser.add_argument("--splits", type=int, default=4, help="as the argument of the environment")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    modules = [module for uri in given.programs for module in resolve(uri)]
    random.Random(given.seed).shuffle(modules)
    ratios, projects, seen = list[dict[str, float]](), list[str](), 0
    with tempfile.TemporaryDirectory(prefix="mlcb-") as folder, Allocators(given.splits) as allocators:
        for module, function in _functions(modules, Path(folder)):
            seen += 1
            with suppress(MlcbError):
                if found := allocators.from_best(function, given.sequences):
                    ratios.append(found)
                    projects.append(module.project)
            if len(ratios) == given.functions:
                break
    _print(ratios, projects, seen)
    return 0


def _functions(modules: Sequence[Program], folder: Path) -> Iterator[tuple[Program, Program]]:
    """Yield each function of the modules as a program of its own, after its module."""
    number = 0
    for module in modules:
        symbols = [toolchain.tool("llvm-nm"), "--defined-only", "--format=posix", module.bitcode]
        for name, kind, *_ in map(str.split, subprocess.check_output(symbols, text=True).splitlines()):
            if kind in "Tt":
                file, number = folder / f"{number}.bc", number + 1
                subprocess.run([toolchain.tool("llvm-extract"), f"--func={name}", module.bitcode, "-o", file], check=True)
                (function,) = resolve(file)
                yield module, function
                file.unlink()


def _print(ratios: Sequence[Mapping[str, float]], projects: Sequence[str], seen: int) -> None:
    print(f"| {len(ratios)} of {seen} functions | cost / optimum | by project | optimal | at most |", "|---|---|---|---|---|", sep="\n")
    for name in ratios[0]:
        own = [each[name] for each in ratios]
        mean = estimate(own, projects)
        print(f"| {name} | {mean.mean:.4f} | {mean.by_project} | {np.mean(np.isclose(own, 1.0)):.0%} | {max(own):.2f} |")


if __name__ == "__main__":
    sys.exit(main())
