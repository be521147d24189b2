# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The speed of each environment with its default arguments: one of it, one worker, random actions."""

import time
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle

import gymnasium
import numpy as np

from benchmarks.episodes import play
from benchmarks.report import Figure
from mlcb_gym import TASKS
from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.rollout.random_policy import random

ROUNDS, SECONDS, SEED = 3, 4.0, 1


def figures() -> Iterator[Figure]:
    for env_id in TASKS.values():
        with closing(gymnasium.make(env_id)) as made:
            env = made.unwrapped
            assert isinstance(env, CompilerEnv)
            programs = cycle(env.programs)
            _rates(env, programs, 1.0)  # the worker starts
            steps, episodes = np.median([_rates(env, programs, SECONDS) for _ in range(ROUNDS)], axis=0)
        yield Figure(f"{env_id}, one environment", float(steps), "steps/s", note=f"{episodes:.3g} episodes/s, median of {ROUNDS} rounds")


def _rates(env: CompilerEnv, programs: Iterator[Program], seconds: float) -> tuple[float, float]:
    """Play whole episodes for about so long; return steps and episodes per second, resets included."""
    choose, steps, episodes = random(np.random.default_rng(SEED)), env.timing.steps, 0
    began = time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        play(env, next(programs), lambda _, observation: choose(observation))
        episodes += 1
    return (env.timing.steps - steps) / spent, episodes / spent
