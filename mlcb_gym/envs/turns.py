# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several agents that take turns, as RLlib and PettingZoo have them."""

from collections.abc import Mapping
from typing import Any

import gymnasium

from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.halves import Info
from mlcb_gym.envs.record import Observation
from mlcb_gym.spec import MASK


class Turns:
    """An episode by agents: the last observation of each, and whether it has acted.

    Args:
        env: what ``gymnasium.make`` returned, or its arguments, as ``{"id": "LoopDistribution-v0", "programs": ...}``. Its wrappers, as a limit of
            steps, stay in force. The reward of a step is shared: it is paid to all who have acted.
    """

    def __init__(self, env: "gymnasium.Env[Any, Any] | Mapping[str, Any]") -> None:
        made: Any = gymnasium.make(**env) if isinstance(env, Mapping) else env
        self.env: gymnasium.Env[Observation, Any] = made
        self.compiler: CompilerEnv = made.unwrapped
        self.agents = {agent.name: agent for agent in self.compiler.task_spec.agents}
        self._several = len(self.agents) > 1
        self.observation_spaces = self._parts(made.observation_space)
        self.action_spaces = {name: agent.action_space if self._several else made.action_space for name, agent in self.agents.items()}
        self.seen: dict[str, Observation] = {}
        self.acted: set[str] = set()

    @property
    def acting(self) -> str:
        """The name of the agent that acts."""
        return self.compiler.agent.name

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> Info:
        """Starts an episode; returns its ``info``."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.seen, self.acted = self._parts(observation), set()
        return self._own(info)

    def step(self, action: Any) -> tuple[float, bool, bool, Info]:
        """Takes the action of the agent that acts; returns the reward, ``terminated``, ``truncated`` and ``info``."""
        self.acted.add(self.acting)
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.seen[self.acting] = self._parts(observation)[self.acting]
        return float(reward), terminated, truncated, self._own(info)

    def _parts(self, whole: Any) -> dict[str, Any]:
        """Return each agent's part of an observation or its space; the parts of those that do not act are all zeros."""
        return {name: whole[name] if self._several else whole for name in self.agents}

    def _own(self, info: Info) -> Info:
        """Return ``info`` with a mask that is as long as the agent has choices."""
        if not self._several or MASK not in info:
            return info
        return info | {MASK: info[MASK][: self.agents[self.acting].advice["choices"]]}
