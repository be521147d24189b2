# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search for short good sequences, program by program: what policies are cloned from, and what coresets are chosen from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from mlcb_gym.training.policy import random
from mlcb_gym.training.rollouts import Script, SplitEnv, episode, name_of, play, replay
from mlcb_gym.training.traces import Trace, best_by_program, read_traces

Actions = tuple[int, ...]
"""Actions, in the order in which they are taken."""
Record = Callable[[Trace], None]


@dataclass(frozen=True, kw_only=True)
class Search:
    """Random episodes, then hill climbing from the best ones found.

    Args:
        episodes: per program, those of an earlier call included.
        random_episodes: how many of them are random.
        pool: how many of the best sequences are varied.
        max_steps: the horizon of the environment.
        stop: the action that ends an episode, if there is one.
        first: sequences to try before any other.
    """

    episodes: int = 200
    random_episodes: int = 40
    pool: int = 6
    max_steps: int = 15
    stop: int | None = None
    actions: int
    first: tuple[Actions, ...] = ()
    seed: int = 1


def run_search(envs: Sequence[SplitEnv], programs: Sequence[Any], search: Search, output: Path) -> dict[str, list[Trace]]:
    """Searches every program and returns the best episodes of each; every episode is appended to ``output`` as it ends.

    Called again with the same file, it goes on where it was. Programs are taken in order, as many at once as there are environments.
    """
    known: dict[str, list[Trace]] = {}
    for trace in read_traces(output):
        known.setdefault(trace.program, []).append(trace)
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("a", buffering=1) as lines:

        def record(trace: Trace) -> None:
            known.setdefault(trace.program, []).append(trace)
            lines.write(trace.to_json() + "\n")

        for _ in play(envs, (_search_one(p, list(known.get(name_of(p), [])), search, record) for p in programs)):
            pass
    return best_by_program((trace for traces in known.values() for trace in traces), search.pool)


def _search_one(program: Any, done: list[Trace], search: Search, record: Record) -> Script[None]:
    """The search on one program: what to try next depends on what was found."""
    rng = np.random.default_rng([search.seed, crc32(name_of(program).encode()), len(done)])
    while len(done) < search.episodes:
        if len(done) < len(search.first):
            trace = yield from replay(program, search.first[len(done)])
        elif len(done) < len(search.first) + search.random_episodes or not (pool := _pool(done, search)):
            trace = yield from episode(program, random(rng))
        else:
            trace = yield from replay(program, _propose(pool, search, rng))
        done.append(trace)
        record(trace)
        if not trace.sizes:  # the program cannot be begun
            return


def _pool(done: Sequence[Trace], search: Search) -> list[Actions]:
    """The best sequences so far, cut where they are smallest."""
    return [trace.trimmed() for traces in best_by_program(done, search.pool).values() for trace in traces]


def _propose(pool: Sequence[Actions], search: Search, rng: np.random.Generator) -> Actions:
    """A variation of one of the pool, the better the likelier; ended by ``stop`` where that exists."""
    rank = min(int(rng.geometric(0.4)) - 1, len(pool) - 1)
    sequence = list(pool[rank])
    for _ in range(int(rng.geometric(0.6))):
        _mutate(sequence, pool, search, rng)
    sequence = sequence[: search.max_steps]
    if search.stop is not None and len(sequence) < search.max_steps:
        sequence.append(search.stop)
    return tuple(sequence)


def _mutate(sequence: list[int], pool: Sequence[Actions], search: Search, rng: np.random.Generator) -> None:
    """Inserts, replaces, removes or swaps an action, or takes the tail of another of the pool; never ``stop``."""
    choices = [a for a in range(search.actions) if a != search.stop]
    at = int(rng.integers(len(sequence) + 1))
    kind = rng.choice(5, p=[0.35, 0.25, 0.15, 0.1, 0.15])
    if kind == 0 or not sequence:
        sequence.insert(at, int(rng.choice(choices)))
    elif kind == 1:
        sequence[at % len(sequence)] = int(rng.choice(choices))
    elif kind == 2:
        del sequence[at % len(sequence)]
    elif kind == 3:
        i, j = at % len(sequence), int(rng.integers(len(sequence)))
        sequence[i], sequence[j] = sequence[j], sequence[i]
    else:
        other = pool[int(rng.integers(len(pool)))]
        sequence[at:] = [a for a in other[int(rng.integers(len(other) + 1)) :] if a != search.stop]
