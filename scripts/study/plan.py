# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cells of the study."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcb_gym.envs import env_class

SEEDS = (1, 2, 3)
MINUTES = 20.0
"""The price of a cell, on one core: as much as ten minutes on two."""
SPLITS = ("validation", "test")

START = "untrained"
IMITATION = "imitation of search"
IMITATION_PPO = "imitation, then PPO"
SEARCH = "search of each program"
ALGORITHMS = {"PPO": "ppo", "DQN": "dqn", "ES": "es"}
"""Methods that learn from rewards alone, and their algorithms."""


@dataclass(frozen=True)
class Subject:
    """A task of the study.

    Args:
        measured: what the ratios are of.
        methods: the methods that are compared, beside the untrained network and the policies that do not learn.
        arguments: of its environment, in training and search.
    """

    measured: str
    methods: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)


BYTES = "bytes of all allocated sections but BSS, to those by -Oz"
THROUGHPUT = "reciprocal throughput of the loops by LLVM's cost model, without caches, to that by -O3: no run time"
EXECUTED = "copies, loads, stores and rematerialisations that are executed, by block frequency, to those of LLVM's greedy allocator"

SUBJECTS = {
    "posetrl": Subject(BYTES, ("PPO", "DQN", "ES", IMITATION, IMITATION_PPO, SEARCH)),
    "inliner": Subject(BYTES, ("PPO", "DQN", "ES", IMITATION, IMITATION_PPO, SEARCH), {"reward": "object", "context": True}),
    "loop_distribution": Subject(THROUGHPUT, ("PPO", "ES", IMITATION, IMITATION_PPO, SEARCH)),
    "eviction": Subject(EXECUTED, ("PPO", "ES", IMITATION)),
    "priority": Subject(EXECUTED, ("PPO", "ES")),
}


@dataclass(frozen=True)
class Cell:
    """A method on a task with a seed."""

    task: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.task}-{self.method.lower().replace(', ', '-').replace(' ', '-')}-{self.seed}"

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(SUBJECTS[self.task].arguments)

    def programs(self, split: str) -> str:
        """Return the URI of a split of the task's corpus."""
        return f"{env_class(self.task).record.corpus}/{split}"


def cells() -> Iterator[Cell]:
    """Yield all cells: the first seed of every method before the second; what others need before them."""
    for seed in SEEDS:
        for task, subject in SUBJECTS.items():
            for method in (START, *subject.methods):
                yield Cell(task, method, seed)
