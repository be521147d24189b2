# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An environment of several agents for PettingZoo."""

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium import spaces

try:
    from pettingzoo import AECEnv
except ImportError as error:
    raise ImportError("mlcb_gym.envs.aec needs PettingZoo: pip install 'mlcb_gym[pettingzoo]'") from error

from mlcb_gym.envs.record import Observation
from mlcb_gym.envs.turns import Turns


class CompilerAecEnv(AECEnv[str, Observation, Any]):
    """PettingZoo's ``AECEnv``: ``agent_selection`` is the agent that acts, ``infos[agent]["action_mask"]`` the mask of its actions.

    The reward of a step goes to all agents that have acted. ``env`` is as ``Turns`` has it: ``CompilerAecEnv({"id": "LoopDistribution-v0"})``.
    """

    def __init__(self, env: "gymnasium.Env[Any, Any] | Mapping[str, Any]") -> None:
        super().__init__()
        self._turns = Turns(env)
        self.metadata = {"name": self._turns.compiler.task, "render_modes": ["ansi"], "is_parallelizable": False}
        self.render_mode = self._turns.compiler.render_mode
        self.possible_agents = list(self._turns.agents)
        self.observation_spaces, self.action_spaces = self._turns.observation_spaces, self._turns.action_spaces
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent]  # the same object each time: it may be seeded

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the action space of an agent."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """See ``CompilerEnv.reset``; options other than ``program`` are none of its own, as PettingZoo asks."""
        info = self._turns.reset(seed, {name: value for name, value in (options or {}).items() if name == "program"})
        self.agents = list(self.possible_agents)
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {name: {} for name in self.agents}
        self._ask(info)

    def observe(self, agent: str) -> Observation:
        """Return the last observation of an agent; all zeros before it acts for the first time."""
        return self._turns.seen[agent]

    def step(self, action: Any) -> None:
        """Takes the action of the agent that acts; None of one whose episode is over."""
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[self.agent_selection] = 0.0
        reward, terminated, truncated, info = self._turns.step(action)
        self.rewards = {name: reward if name in self._turns.acted else 0.0 for name in self.agents}
        self._accumulate_rewards()
        self.terminations, self.truncations = dict.fromkeys(self.agents, terminated), dict.fromkeys(self.agents, truncated)
        self._ask(info)

    def render(self) -> str | None:
        """Return one line: the program, the steps taken, the return so far, and the metrics measured last."""
        return self._turns.compiler.render()

    def close(self) -> None:
        """Ends the episode and, unless it was given, the compiler."""
        self._turns.env.close()

    def _ask(self, info: dict[str, Any]) -> None:
        self.agent_selection = self._turns.acting
        self.infos[self.agent_selection] = info
