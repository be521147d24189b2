# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network for what is answered by a value, as a priority: how much higher or lower than the compiler's own heuristic has it."""

import math
from collections.abc import Mapping

import torch
from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.features import Features, heuristic_of
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.errors import TaskError

SPREAD = math.log(2)
"""The logarithm of the most that a value is raised or lowered by."""


class ValueNetwork(nn.Module):
    """Observation to a value in the compiler's units, ``[batch, 1]``. A head of zeros gives the heuristic's.

    Raises:
        TaskError: the heuristic's is not told.
    """

    def __init__(self, observation_space: spaces.Dict, config: NetworkConfig) -> None:
        super().__init__()
        self.features = Features(observation_space, actions=1)
        self.head = Mlp(self.features.width, 1, config)
        default = heuristic_of(observation_space)
        if default is None:
            raise TaskError("a value is learnt as a multiple of the compiler's own, which is not told: expected told=1")
        self.default = default

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        factor = (SPREAD * torch.tanh(self.head(self.features(observation)))).exp()
        value: Tensor = factor * observation[self.default].float()
        return value
