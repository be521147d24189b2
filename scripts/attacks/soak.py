# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes upon episodes in every environment: by how much learner and worker grow."""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.report import Figure
from mlcb_gym import VERSIONS
from scripts.attacks.player import START_SECONDS, Played, Player

WARM_SHARE, WINDOW_SHARE = 0.5, 0.3
"""The share of the episodes before the first look, for each program is met for the first time there; and of those that are looked at."""
MEGABYTES = 1.0


def figures(episodes: int, env_ids: Sequence[str] = tuple(VERSIONS)) -> Iterator[Figure]:
    """So many episodes, as many in each environment; one environment on each core."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        played = dict(zip(env_ids, pool.map(lambda env_id: _play(env_id, max(2, episodes // len(env_ids))), env_ids), strict=True))
    note = f"{len(env_ids)} environments, random choices, each environment's in one worker"
    yield Figure("episodes", sum(map(len, played.values())), "", note=note)
    for name, prefix in {"learner": "", "worker": "worker_"}.items():
        for held, unit, most, look in (("megabytes", "MB", MEGABYTES, statistics.median), ("descriptors", "descriptors", 0, min)):
            growth = {env_id: _growth([getattr(each, prefix + held) for each in seen], look) for env_id, seen in played.items()}
            worst = max(growth, key=growth.__getitem__)
            yield Figure(f"growth of the {name}, at most", growth[worst], unit, most, note=f"{worst}; over the second half of the episodes")


def _play(env_id: str, episodes: int) -> list[Played]:
    with Player(env_id, "worker:", {}) as player:
        seen, until = list[Played](), time.monotonic() + START_SECONDS
        while len(seen) < episodes and time.monotonic() < until:
            for played in player.episodes(1.0):
                seen.append(played)
                until = time.monotonic() + START_SECONDS
                if len(seen) == episodes:
                    break
    print(f"{env_id} {len(seen)} episodes", flush=True)
    return seen


def _growth(held: list[float], look: Callable[[list[float]], float]) -> float:
    """From the first to the last of those that are looked at. A worker that has not yet let go of its last episode holds more: of descriptors the
    fewest of some count."""
    looked_at = held[int(WARM_SHARE * len(held)) :]
    some = max(1, int(WINDOW_SHARE * len(looked_at)))
    return look(looked_at[-some:]) - look(looked_at[:some])
