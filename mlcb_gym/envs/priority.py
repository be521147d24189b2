# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Priority: the order in which LLVM's own register allocator allocates live ranges."""

from functools import partial
from typing import Unpack

import numpy as np
from gymnasium import spaces

from mlcb_gym.envs.actions import Values
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Observation
from mlcb_gym.envs.regalloc import PARAMETERS, PASSAGES, RegAllocOptions, env_arguments, record
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.session import PRIORITY
from mlcb_gym.spec import bind

UNIT = bind("priority", {}).agents[0].tensor("priority_default").high
"""The highest priority, which the action 1 gives: a power of two, so that the product with an action is exact."""


def same_for_all(observation: Observation) -> np.ndarray:
    """Return the same priority for every live range."""
    return np.zeros(1, np.float32)


def small_first(observation: Observation) -> np.ndarray:
    """Return the priority of a live range by its size, the opposite of what LLVM does."""
    return 1 / (1 + observation["li_size"].astype(np.float32))


def as_llvm(observation: Observation) -> np.ndarray:
    """Return LLVM's own priority."""
    return observation["priority_default"] / np.float32(UNIT)


class PriorityEnv(CompilerEnv):
    """Decide in which order LLVM's greedy register allocator allocates live ranges, so that a program spills little.

    ## Description
    LLVM's greedy allocator keeps live ranges without a register in a priority queue. The first ones find free registers; later ones evict, or are
    split or spilled. LLVM allocates global ranges before local ones, and large ones before small ones. Here a policy gives the priorities, after
    MLGO's successors, inside an unmodified LLVM 22. One step is one range that enters the queue.

    ## Action Space
    ``Box(0, 1, (1,), float32)``: the priority, in units of 2^32; the highest comes first. An exported policy gives it in LLVM's own units, as
    ``priority_default`` is. LLVM's priorities have more bits than a float: a value equal to ``priority_default`` stands for exactly LLVM's own. A
    stock compiler truncates the float to an integer.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``native/tasks/priority.def``, the first three of which LLVM declares to a model:

    {observations}

    {sections}
    | ``told`` | 1 | whether LLVM's own answer is observed, and all features beyond LLVM's three; 0 with a stock compiler |
    {arguments}

    {stock}

    {imports}
    >>> env = gymnasium.make("RegAllocPriority-v1", programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(env.unwrapped.default_action(observation))
    >>> info["program"], info["executed"], info["executed_default"], terminated
    ('embedded/train/fft', 990.0, 990.0, True)
    {versions}
    """

    task = "priority"
    record = record("value", as_llvm, same=same_for_all, small_first=small_first)
    parameters = PARAMETERS
    passages = PASSAGES

    def __init__(self, **options: Unpack[RegAllocOptions]) -> None:
        super().__init__(**env_arguments(PRIORITY, **options))
        self.action_space = spaces.Box(0, 1, (1,), np.float32)
        self._actions = Values(self.action_space, unit=UNIT)


PriorityVectorEnv = partial(CompilerVectorEnv, PriorityEnv)
