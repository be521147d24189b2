# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks that are trained and exported: the choice among them, and the usual one, features and a multilayer perceptron."""

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.columns import ColumnFeatures, ColumnHead
from mlcb_gym.agents.features import Features
from mlcb_gym.agents.graph import GraphNetwork
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.agents.team import Team
from mlcb_gym.agents.values import ValueNetwork
from mlcb_gym.spec import AGENT, MASK


class LogitsNetwork(nn.Module):
    """From an observation to one number per action: logits of a policy, or the values of a Q-network. Masks are not applied.

    Of an agent that gives a value, to that value.
    """

    def __init__(
        self, observation_space: spaces.Dict, action_space: spaces.Space[Any], config: NetworkConfig, architecture: Architecture = Architecture()
    ) -> None:
        super().__init__()
        actions = int(action_space.n) if isinstance(action_space, spaces.Discrete) else 1
        self.features: Features | ColumnFeatures
        self.head: Mlp | ColumnHead
        if architecture.kind == "columns":
            self.features = ColumnFeatures(observation_space, actions=actions, architecture=architecture)
            self.head = ColumnHead(self.features, config)
        else:
            self.features = Features(observation_space, actions=actions, architecture=architecture)
            self.head = Mlp(self.features.width, actions, config)

    @property
    def summary_width(self) -> int:
        """The number of features."""
        return self.features.width

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        return self.rate(observation)[0]

    def rate(self, observation: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits or the value, and the features, ``[batch, summary_width]``."""
        features = self.features(observation)
        return self.head(features), features

    def action(self, observation: Mapping[str, Tensor], rating: Tensor, space: spaces.Box) -> Tensor:
        """Return the action for the value: itself, or the nearest that there is."""
        return rating.clamp(space.low.item(), space.high.item())


AgentNetwork = LogitsNetwork | GraphNetwork | ValueNetwork
PolicyNetwork = AgentNetwork | Team


def policy_network(
    observation_space: spaces.Dict, action_space: spaces.Space[Any], config: NetworkConfig, architecture: Architecture = Architecture()
) -> PolicyNetwork:
    """Return the network of a policy: of one agent, or those of several agents, which choose."""
    if AGENT in observation_space.spaces:
        parts = {name: part for name, part in observation_space.items() if isinstance(part, spaces.Dict)}
        return Team({name: agent_network(part, _choices(part), config, architecture) for name, part in parts.items()})
    return agent_network(observation_space, action_space, config, architecture)


def agent_network(
    observation_space: spaces.Dict, action_space: spaces.Space[Any], config: NetworkConfig, architecture: Architecture = Architecture()
) -> AgentNetwork:
    """Return the network of one agent."""
    if architecture.kind == "value":
        return ValueNetwork(observation_space, config, architecture)
    if architecture.kind == "graph":
        assert isinstance(action_space, spaces.Discrete)
        return GraphNetwork(observation_space, action_space, config)
    return LogitsNetwork(observation_space, action_space, config, architecture)


def _choices(observation_space: spaces.Dict) -> "spaces.Discrete[Any]":
    """The action space of one agent of several, as long as its mask."""
    return spaces.Discrete(observation_space[MASK].shape[0])  # type: ignore[index]
