# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the agents that split loops make of them: answers in another order often make the same loops."""

from collections.abc import Hashable

from mlcb_gym.envs.compiler_env import Observation
from mlcb_gym.spec import acting_agent

DISTRIBUTOR = 1
LAST = 3
"""Where a loop's number of nodes stands in ``loop``."""


def partition(observation: Observation, action: int) -> Hashable | None:
    """The part of each node of the loop, where this answer places the last one; None before."""
    agent, seen = acting_agent(observation)
    nodes, part = int(seen["loop"][LAST]), seen["part"]
    if agent != DISTRIBUTOR or int((part[:nodes] < 0).sum()) > 1:
        return None
    place = int(seen["chosen"])
    parts = part[:nodes].tolist()
    parts[place] = max(parts) + action
    return tuple(parts)
