# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An environment of several agents for RLlib."""

from collections.abc import Mapping
from typing import Any

import gymnasium
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from mlcb_gym.envs.turns import Turns


class RllibMultiAgentEnv(MultiAgentEnv):
    """RLlib's ``MultiAgentEnv``: one agent acts at a time, the one that the observation is for.

    The reward of a step goes to all agents that have acted; at the end of an episode each of them gets its last observation. ``env`` is as ``Turns``
    has it, so that a config may name the class: ``.environment(RllibMultiAgentEnv, env_config={"id": "LoopDistribution-v0"})``.
    """

    def __init__(self, env: "gymnasium.Env[Any, Any] | Mapping[str, Any]") -> None:
        super().__init__()
        self._turns = Turns(env)
        self.agents = self.possible_agents = list(self._turns.agents)
        self.observation_spaces, self.action_spaces = self._turns.observation_spaces, self._turns.action_spaces

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """See ``CompilerEnv.reset``."""
        info = self._turns.reset(seed, options)
        return self._of(self._turns.acting), {self._turns.acting: info}

    def step(self, action_dict: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Takes the action of the agent that acts."""
        reward, terminated, truncated, info = self._turns.step(action_dict[self._turns.acting])
        shown = self._turns.acted if terminated or truncated else {self._turns.acting}
        rewards = dict.fromkeys(sorted(self._turns.acted), reward)
        infos = {self._turns.acting: info} if self._turns.acting in shown else {}
        return self._of(*sorted(shown)), rewards, {"__all__": terminated}, {"__all__": truncated}, infos

    def close(self) -> None:
        """Ends the episode and, unless it was given, the compiler."""
        self._turns.env.close()

    def _of(self, *names: str) -> dict[str, Any]:
        return {name: self._turns.seen[name] for name in names}
