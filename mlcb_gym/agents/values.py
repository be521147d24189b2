# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network for what is answered by a value, as a priority: by how much it is higher or lower than the compiler's own heuristic has it."""

from collections.abc import Mapping

from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.features import Features, heuristic_of
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.errors import TaskError


class ValueNetwork(nn.Module):
    """Observation to a value in the compiler's units, ``[batch, 1]``: the heuristic's, as a fraction of the highest there is, to a power.
    A head of zeros gives the heuristic's own; 0 stays 0, and of all others none is out of reach.

    Raises:
        TaskError: the heuristic's is not told.
    """

    def __init__(self, observation_space: spaces.Dict, config: NetworkConfig) -> None:
        super().__init__()
        self.features = Features(observation_space, actions=1)
        self.head = Mlp(self.features.width, 1, config)
        default = heuristic_of(observation_space)
        if default is None:
            raise TaskError("a value is learnt from the compiler's own, which is not told: expected told=1")
        space = observation_space[default]
        assert isinstance(space, spaces.Box)
        self.default, self.highest = default, float(space.high.item())

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        fraction = observation[self.default].float() / self.highest
        value: Tensor = self.highest * fraction.pow((-self.head(self.features(observation))).exp())
        return value
