# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy that draws its actions, and its observations."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mlcb_gym.envs.halves import HalvedEnv
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.rollout.play import observed, play_in_order
from mlcb_gym.spec import MASK, acting_agent


def rng_of(program: Any, *seed: int) -> np.random.Generator:
    """Return the generator of what is drawn for a program: it depends on the seed and the program's digest alone, not on the programs before."""
    return np.random.default_rng([*seed, int(program.digest[:8], 16)])


def random(rng: np.random.Generator) -> Callable[[Observation], Action]:
    """Return the policy that takes any allowed action, all equally likely; of an agent that gives a value, any value."""

    def choose(observation: Observation) -> Action:
        _, seen = acting_agent(observation)
        if MASK not in seen:
            return rng.random(1, np.float32)
        return int(rng.choice(np.flatnonzero(seen[MASK])))

    return choose


def random_observations(envs: Sequence[HalvedEnv], programs: Sequence[Any], episodes: int, seed: int) -> list[Observation]:
    """Return every observation of random episodes, over programs that are each taken about equally often."""
    rng = np.random.default_rng(seed)
    scripts = (observed(program, random(own)) for program, own in zip(_drawn(programs, episodes, rng), rng.spawn(episodes), strict=True))
    return [observation for seen in play_in_order(envs, scripts) for observation in seen]


def _drawn(programs: Sequence[Any], count: int, rng: np.random.Generator) -> Iterator[Any]:
    while count > 0:
        for index in rng.permutation(len(programs))[:count]:
            yield programs[index]
        count -= len(programs)
