# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Features, a multilayer perceptron, and a linear head: the network that every algorithm trains and that is exported."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.columns import ColumnFeatures, ColumnHead, has_columns
from mlcb_gym.agents.features import Features

MASK = "action_mask"
"""Name of the tensor that says which actions are allowed; never an input of a network."""


@dataclass(frozen=True)
class NetworkConfig:
    """The size of a network.

    ``final_gain`` scales the initial weights of the head: near 0 the first policy is uniform over the allowed actions.
    """

    hidden: tuple[int, ...] = (256, 256)
    dropout: float = 0.0
    final_gain: float = 0.01


class Mlp(nn.Sequential):
    """Linear, layer norm, SiLU, for each hidden width, then a linear head."""

    def __init__(self, inputs: int, outputs: int, config: NetworkConfig) -> None:
        layers: list[nn.Module] = []
        for width in config.hidden:
            layers += [nn.Linear(inputs, width), nn.LayerNorm(width), nn.SiLU(), nn.Dropout(config.dropout)]
            inputs = width
        head = nn.Linear(inputs, outputs)
        nn.init.orthogonal_(head.weight, config.final_gain)
        nn.init.zeros_(head.bias)
        super().__init__(*layers, head)


class LogitsNetwork(nn.Module):
    """Observation to one number per action: logits of a policy, or the values of a Q-network. Masks are not applied."""

    def __init__(self, observation_space: spaces.Dict, action_space: "spaces.Discrete[Any]", config: NetworkConfig) -> None:
        super().__init__()
        actions = int(action_space.n)
        self.features: Features | ColumnFeatures
        self.head: Mlp | ColumnHead
        if has_columns(observation_space, actions):
            self.features = ColumnFeatures(observation_space, actions=actions)
            self.head = ColumnHead(self.features, Mlp, config)
        else:
            self.features = Features(observation_space, actions=actions)
            self.head = Mlp(self.features.width, actions, config)

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        logits: Tensor = self.head(self.features(observation))
        return logits
