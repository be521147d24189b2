# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Q-values under an action mask, for double DQN."""

from typing import Any

import torch
from gymnasium import spaces
from ray.rllib.algorithms.dqn.default_dqn_rl_module import QF_PREDS
from ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module import DefaultDQNTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.utils.schedules.scheduler import Scheduler
from torch import Tensor, nn

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import LogitsNetwork
from mlcb_gym.errors import TaskError
from mlcb_gym.spec import AGENT, MASK


class MaskedDqn(DefaultDQNTorchRLModule):
    """Illegal actions have a value of minus infinity, which RLlib's loss reads as "not in the maximum"."""

    def setup(self) -> None:
        architecture = Architecture.from_config(self.model_config)
        if not isinstance(self.action_space, spaces.Discrete) or AGENT in self.observation_space.spaces:
            raise TaskError("a value or several agents, which DQN does not learn: expected MaskedPolicyGradient")
        self.uses_dueling = False
        self.uses_double_q = self.model_config.get("double_q", True)
        self.num_atoms = 1
        self.epsilon_schedule = Scheduler(fixed_value_or_schedule=self.model_config["epsilon"], framework=self.framework)
        config = NetworkConfig.of(self.model_config)
        self.encoder = LogitsNetwork(self.observation_space, self.action_space, config, architecture)
        self.af = nn.Identity()

    @property
    def network(self) -> LogitsNetwork:
        """The network that is exported; RLlib copies it as the target network under the name ``encoder``."""
        return self.encoder

    def _qf_forward_helper(self, batch: dict[str, Any], encoder: nn.Module, head: nn.Module) -> dict[str, Tensor]:
        observation = batch[Columns.OBS]
        values = head(encoder(observation))
        return {QF_PREDS: torch.where(observation[MASK] > 0, values, -torch.inf)}

    def _forward_exploration(self, batch: dict[str, Any], t: int) -> dict[str, Tensor]:
        """Epsilon-greedy over the mask. RLlib's own explores where values differ from 0, and fails on an empty mask."""
        greedy = self.compute_q_values(batch)[QF_PREDS].argmax(dim=-1)
        mask = batch[Columns.OBS][MASK].float()
        mask = torch.where(mask.sum(dim=-1, keepdim=True) > 0, mask, torch.ones_like(mask))
        self.epsilon_schedule.update(t)
        explores = torch.rand(greedy.shape) < self.epsilon_schedule.get_current_value()
        return {Columns.ACTIONS: torch.where(explores, torch.multinomial(mask, 1).squeeze(-1), greedy)}
