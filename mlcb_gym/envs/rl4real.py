# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RL4ReAl: register allocation by four agents."""

from dataclasses import replace
from functools import partial
from typing import Unpack

import numpy as np

from mlcb_gym import toolchain
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Action, FeatureKind, Observation
from mlcb_gym.envs.regalloc import PARAMETERS, PASSAGES, RegAllocOptions, env_arguments, other_allocators, record
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.errors import TaskError
from mlcb_gym.spec import MASK, acting_agent


def heuristic(observation: Observation) -> int:
    """Return the answer of the allocator's own heuristic."""
    return int(acting_agent(observation)[1]["heuristic"].item())


def first(observation: Observation) -> int:
    """Return the first action that is allowed: the densest live range, to colour it, in the first region, the first register."""
    return int(np.flatnonzero(acting_agent(observation)[1][MASK])[0])


def fewest_first(observation: Observation) -> float:
    """Return the chance of a decision to be searched, relative to others': each alternative costs an episode."""
    return 1.0 / float(acting_agent(observation)[1][MASK].sum())


COSTS_OF_RANGE = ("weight", "density", "spill_cost", "copy_cost", "hottest", "neighbour_density", "neighbour_cost")
COSTS_OF_CHOICE = ("cost", "frequency", "inside", "edges", "saves", "evicts", "copies")
"""Tensors that are costs, or say how often a block runs."""

SCORE = {"density": 1, "cost": -1, "inside": 1, "edges": -1, "saves": -1, "evicts": -1, "copies": -1}
"""What the heuristic of each agent goes by: the density of a live range; what its fate costs; what a region brings; the price of a register."""

_RECORD = record("columns", heuristic, heuristic=heuristic, first=first)
_REFERENCES = {**_RECORD.reference_policies, **other_allocators(heuristic)}


class RL4ReAlEnv(CompilerEnv):
    """Allocate registers by four agents in turns, so that a program spills little.

    ## Description
    LLVM's greedy allocator is replaced by one of the project's own, which makes no decision by itself: four agents take turns, after RL4ReAl
    (CC 2023), in code generation of an unmodified LLVM 22. The ``selector`` chooses which live range is next; the ``tasker`` whether it is coloured,
    split or spilled; the ``splitter`` where it is split; the ``colourer`` which register it gets. Every allocation is a right one: what an agent may
    choose is computed by the compiler. Where there is only one choice, there is no decision. A live range that cannot be spilled moves others away.
    Functions with more than 4000 live ranges are left to greedy.

    ## Action Space
    ``Discrete(32)``. For the selector, one of the 32 densest live ranges that wait; for the tasker, 0 to colour, 1 to split, 2 to spill; for the
    splitter, a region: a loop, blocks, or a run of uses; for the colourer, a register in the order of preference and allocation.
    ``info["action_mask"]`` is 1 for the actions that are allowed.

    ## Observation Space
    A ``Dict``: ``agent``, the index of the agent that acts; and for each of the four a ``Dict`` of the tensors declared in
    ``native/tasks/rl4real.def``, all zeros for those that do not act. A live range is a node of the interference graph: its own numbers, and those of
    its neighbours together. Costs are in the units of the metric ``executed``.

    {observations}

    ``mlcb_gym.envs.multi_agent`` and ``mlcb_gym.envs.aec`` make it an environment of four agents for RLlib and PettingZoo.

    {sections}
    | ``splits`` | 8 | how often a live range, and what it was split into, may be split; 0 for never |
    | ``dimension`` | 0 | length of the embedding of a live range: 100 with the vocabulary of machine instructions that ships, 0 for none |
    | ``told`` | 1 | whether the answer of the allocator's own heuristic is observed |
    {arguments}

    {imports}
    >>> env = gymnasium.make("RL4ReAl-v0", programs="embedded/train/fft", session=ScriptedCompiler(horizon=2))
    >>> observation, info = env.reset(seed=1)
    >>> env.unwrapped.agent.name
    'selector'
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> env.unwrapped.agent.name
    'tasker'
    {first_version}
    """

    task = "rl4real"
    record = replace(
        _RECORD,
        features={**_RECORD.features, **dict.fromkeys((*COSTS_OF_RANGE, *COSTS_OF_CHOICE), FeatureKind.COST)},
        score=SCORE,
        search_priority=fewest_first,
        reference_policies=_REFERENCES,
    )
    parameters = (*PARAMETERS, "splits", "dimension")
    passages = PASSAGES

    def __init__(self, *, splits: int = 8, dimension: int = 0, **options: Unpack[RegAllocOptions]) -> None:
        if options.get("compiler", "plugin") != "plugin":
            raise TaskError(f"compiler={options['compiler']!r}: a stock compiler has no such allocator, expected 'plugin'")
        if options.get("forbidden"):
            raise TaskError(f"forbidden={options['forbidden']}: an action means something else for each agent, expected ()")
        if (episode := options.get("episode", "module")) != "module":
            raise TaskError(f"episode={episode!r}: the agents take turns in whole modules, expected 'module'")
        arguments = env_arguments((), **options)
        vocabulary = toolchain.vocabulary_digest("machine-vocabulary") if dimension else ""
        own = {"splits": splits, "dimension": dimension, "vocabulary": vocabulary}
        super().__init__(**arguments | {"parameters": {**arguments["parameters"], **own}})

    def default_action(self, observation: Observation) -> Action:
        """Return the answer of the allocator's own heuristic."""
        return heuristic(observation)


RL4ReAlVectorEnv = partial(CompilerVectorEnv, RL4ReAlEnv)
