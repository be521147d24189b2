# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eviction: the choice of live ranges to evict in LLVM's own register allocator."""

from functools import partial
from typing import Unpack

import numpy as np

from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Observation
from mlcb_gym.envs.regalloc import PARAMETERS, PASSAGES, RegAllocOptions, env_arguments, record
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.session import EVICTION
from mlcb_gym.spec import MASK


def last_allowed(observation: Observation) -> int:
    """Return the column that evicts nothing, where that is allowed."""
    return int(np.flatnonzero(observation[MASK])[-1])


def first_allowed(observation: Observation) -> int:
    """Return the first register of the allocation order that may be evicted, always."""
    return int(np.flatnonzero(observation[MASK])[0])


def as_llvm(observation: Observation) -> int:
    """Return LLVM's own answer."""
    return int(observation["eviction_default"].item())


class EvictionEnv(CompilerEnv):
    """Decide, range by range, which live ranges LLVM's greedy register allocator evicts, so that a program spills little.

    ## Description
    LLVM's greedy allocator assigns registers to live ranges, the largest first. A range without a free register may evict lighter ones from a
    register, which are assigned, split or spilled later; LLVM compares spill weights. The effect of an eviction shows only when every range is
    allocated. Here a policy decides, after MLGO (arXiv 2101.04808), inside an unmodified LLVM 22: LLVM's own advisor for models computes the mask
    and the features. One step is one range without a free register.

    ## Action Space
    ``Discrete(33)``: the column to evict, a physical register in allocation order; or 32 to evict nothing, and split or spill the range.
    ``info["action_mask"]`` is 1 for the columns that are allowed. Where LLVM's own choice is not among them, there is no decision.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``native/tasks/eviction.def``, all but the last two of which LLVM declares:

    {observations}

    {sections}
    | ``told`` | 1 | whether LLVM's own answer is observed; 0 with a stock compiler |
    {arguments}

    {stock}

    {imports}
    >>> env = gymnasium.make("RegAllocEviction-v1", programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(32)
    >>> info["program"], terminated
    ('embedded/train/fft', True)
    >>> info["executed"], info["executed_default"]
    (990.0, 990.0)
    {versions}
    """

    task = "eviction"
    record = record("columns", as_llvm, never=last_allowed, first=first_allowed)
    parameters = PARAMETERS
    passages = PASSAGES

    def __init__(self, **options: Unpack[RegAllocOptions]) -> None:
        super().__init__(**env_arguments(EVICTION, **options))


EvictionVectorEnv = partial(CompilerVectorEnv, EvictionEnv)
