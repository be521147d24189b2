# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several agents that take turns, as RLlib and PettingZoo see them."""

from typing import Any

import numpy as np

from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.halves import Info
from mlcb_gym.envs.record import Observation


class Turns:
    """An episode, told agent by agent: what each of them saw last, and whether it has acted.

    Args:
        env: an environment of several agents. The reward of a step is shared: it is paid to all who have acted.
    """

    def __init__(self, env: CompilerEnv) -> None:
        self.env = env
        self.agents = {agent.name: agent for agent in env.task_spec.agents}
        self.observation_spaces = {name: agent.observation_space for name, agent in self.agents.items()}
        self.action_spaces = {name: agent.action_space for name, agent in self.agents.items()}
        self.seen: dict[str, Observation] = {}
        self.acted: set[str] = set()

    @property
    def asked(self) -> str:
        """The name of who is asked."""
        return self.env.agent.name

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> Info:
        """Begins an episode."""
        _, info = self.env.reset(seed=seed, options=options)
        self.seen = {name: agent.observation({}) for name, agent in self.agents.items()}
        self.acted = set()
        return self._look(info)

    def step(self, action: Any) -> tuple[float, bool, bool, Info]:
        """The action of who is asked; its reward, whether that ended the episode, or cut it short, and what else is known."""
        self.acted.add(self.asked)
        _, reward, terminated, truncated, info = self.env.step(action)
        return reward, terminated, truncated, self._look(info)

    def _look(self, info: Info) -> Info:
        """Takes down what is asked; the mask is as long as the agent has choices."""
        observation = self.env.observation
        self.seen[self.asked] = observation if len(self.agents) == 1 else observation[self.asked]
        mask = self.env.agent.mask
        return info if mask is None else info | {"action_mask": np.asarray(self.seen[self.asked][mask])}
