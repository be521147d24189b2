# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several agents that take turns, as RLlib and PettingZoo have them."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.halves import Info
from mlcb_gym.envs.record import Observation
from mlcb_gym.spec import MASK


class Turns:
    """An episode by agents: the last observation of each, and whether it has acted.

    Args:
        env: what ``gymnasium.make`` returned, or its arguments, as ``{"id": "LoopDistribution-v0", "programs": ...}``. The reward of a step is
            shared: it is paid to all who have acted.
    """

    def __init__(self, env: "gymnasium.Env[Any, Any] | Mapping[str, Any]") -> None:
        made: Any = gymnasium.make(**env) if isinstance(env, Mapping) else env
        self.env: CompilerEnv = made.unwrapped
        self.agents = {agent.name: agent for agent in self.env.task_spec.agents}
        self.observation_spaces = {name: agent.observation_space for name, agent in self.agents.items()}
        self.action_spaces = {name: agent.action_space for name, agent in self.agents.items()}
        self.seen: dict[str, Observation] = {}
        self.acted: set[str] = set()

    @property
    def acting(self) -> str:
        """The name of the agent that acts."""
        return self.env.agent.name

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> Info:
        """Starts an episode; returns its ``info``."""
        _, info = self.env.reset(seed=seed, options=options)
        self.seen = {name: agent.observation({}) for name, agent in self.agents.items()}
        self.acted = set()
        return self._store(info)

    def step(self, action: Any) -> tuple[float, bool, bool, Info]:
        """Takes the action of the agent that acts; returns the reward, ``terminated``, ``truncated`` and ``info``."""
        self.acted.add(self.acting)
        _, reward, terminated, truncated, info = self.env.step(action)
        return reward, terminated, truncated, self._store(info)

    def _store(self, info: Info) -> Info:
        """Stores the observation; the mask in ``info`` is as long as the agent has choices."""
        observation = self.env.observation
        self.seen[self.acting] = observation if len(self.agents) == 1 else observation[self.acting]
        mask = self.env.agent.mask
        return info if mask is None else info | {MASK: np.asarray(self.seen[self.acting][mask])}
