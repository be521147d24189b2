# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast each environment is played: one of it, one worker, random actions, arguments as by default."""

import time
from collections.abc import Iterator
from contextlib import closing

import gymnasium
import numpy as np

from benchmarks.report import Figure
from mlcb_gym import TASKS
from mlcb_gym.envs.compiler_env import CompilerEnv

ROUNDS, SECONDS, SEED = 3, 4.0, 1
KERNELS, PROGRAMS = "loops/test", "embedded/test"


def figures() -> Iterator[Figure]:
    for task, env_id in TASKS.items():
        programs = KERNELS if task == "loop_distribution" else PROGRAMS
        with closing(gymnasium.make(env_id, programs=programs)) as made:
            env = made.unwrapped
            assert isinstance(env, CompilerEnv)
            env.action_space.seed(SEED)
            _episodes(env, 1.0)  # the worker starts, and reads programs
            steps, episodes = np.median([_episodes(env, SECONDS) for _ in range(ROUNDS)], axis=0)
        note = f"{episodes:.3g} episodes/s on {programs}, median of {ROUNDS} rounds"
        yield Figure(f"{env_id}, one environment", float(steps), "steps/s", note=note)


def _episodes(env: CompilerEnv, seconds: float) -> tuple[float, float]:
    """Play whole episodes for about so long; return steps and episodes per second, resets included."""
    began, steps, episodes = time.perf_counter(), 0, 0
    while (spent := time.perf_counter() - began) < seconds:
        _, info = env.reset(seed=SEED if episodes == 0 else None)
        ended = False
        while not ended:
            mask = info.get("action_mask")
            action = env.action_space.sample() if mask is None else env.action_space.sample(mask=mask)
            _, _, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
            steps += 1
        episodes += 1
    return steps / spent, episodes / spent
