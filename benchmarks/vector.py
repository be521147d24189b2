# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The native vector environment: what compilers at work at once gain."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np

import mlcb_gym  # noqa: F401  (registers the environments)
from benchmarks.report import Figure
from benchmarks.step import INSTRUCTIONS, programs_of_about
from mlcb_gym.envs.action_lists import read_actions

ROUNDS, STEPS, SEED = 5, 300, 1
ACTIONS = read_actions("odg")


def figures() -> Iterator[Figure]:
    # In turns: what else this machine does changes from minute to minute.
    alone, together = np.transpose([[_steps_per_second(n) for n in (1, 4)] for _ in range(ROUNDS)])
    gains = together / alone
    note = f"size every step, modules of about {INSTRUCTIONS} instructions; median of {ROUNDS} rounds, {gains.min():.2f} to {gains.max():.2f}"
    yield Figure("4 environments / 1, steps per second", float(np.median(gains)), "x", 1.5, 1.9, higher=True, note=note)
    yield Figure("1 environment", float(np.median(alone)), "steps/s")
    yield Figure("4 environments", float(np.median(together)), "steps/s")


def _steps_per_second(num_envs: int) -> float:
    """Random distinct sequences on the same few programs, in a fresh worker; resets take time but are no steps."""
    rng = np.random.default_rng(SEED)
    arguments: dict[str, Any] = {"programs": programs_of_about(INSTRUCTIONS), "actions": ACTIONS, "reward": "size"}
    with closing(gymnasium.make_vec("PosetRL-v0", num_envs=num_envs, vectorization_mode="vector_entry_point", **arguments)) as envs:
        observation, _ = envs.reset(seed=SEED)
        started = time.perf_counter()
        for _ in range(STEPS // num_envs):
            actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in observation["action_mask"]])
            observation, *_ = envs.step(actions)
        return envs.unwrapped.timing.steps / (time.perf_counter() - started)
