# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks that are trained and exported: which one a task has, and the one for most of them, features and a multilayer perceptron."""

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.columns import ColumnFeatures, ColumnHead, has_columns
from mlcb_gym.agents.features import Features
from mlcb_gym.agents.graph import GRAPH, GraphNetwork
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.agents.team import Team
from mlcb_gym.agents.values import ValueNetwork
from mlcb_gym.spec import AGENT, MASK


class LogitsNetwork(nn.Module):
    """Observation to one number per action: logits of a policy, or the values of a Q-network. Masks are not applied."""

    def __init__(self, observation_space: spaces.Dict, action_space: "spaces.Discrete[Any]", config: NetworkConfig) -> None:
        super().__init__()
        actions = int(action_space.n)
        self.features: Features | ColumnFeatures
        self.head: Mlp | ColumnHead
        if has_columns(observation_space, actions):
            self.features = ColumnFeatures(observation_space, actions=actions)
            self.head = ColumnHead(self.features, config)
        else:
            self.features = Features(observation_space, actions=actions)
            self.head = Mlp(self.features.width, actions, config)

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        logits: Tensor = self.head(self.features(observation))
        return logits


AgentNetwork = LogitsNetwork | GraphNetwork | ValueNetwork
PolicyNetwork = AgentNetwork | Team


def policy_network(observation_space: spaces.Dict, action_space: spaces.Space[Any], config: NetworkConfig) -> PolicyNetwork:
    """The network of a policy: of one agent, which chooses or answers with a value, or those of several, which choose."""
    if AGENT in observation_space.spaces:
        parts = {name: part for name, part in observation_space.items() if isinstance(part, spaces.Dict)}
        return Team({name: agent_network(part, spaces.Discrete(part[MASK].shape[0]), config) for name, part in parts.items()})  # type: ignore[index]
    return agent_network(observation_space, action_space, config)


def agent_network(observation_space: spaces.Dict, action_space: spaces.Space[Any], config: NetworkConfig) -> AgentNetwork:
    """The network of one agent."""
    if not isinstance(action_space, spaces.Discrete):
        return ValueNetwork(observation_space, config)
    if GRAPH in observation_space.spaces:
        return GraphNetwork(observation_space, action_space, config)
    return LogitsNetwork(observation_space, action_space, config)
