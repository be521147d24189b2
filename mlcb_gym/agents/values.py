# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network for an agent that gives a value, as a priority: it corrects the value of the compiler's own heuristic."""

from collections.abc import Mapping

from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.features import Features
from mlcb_gym.agents.heuristic import observed_heuristic
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.errors import TaskError


class ValueNetwork(nn.Module):
    """From an observation to a value in the compiler's units, ``[batch, 1]``: the heuristic's, as a fraction of the highest one, raised to a power.

    A head of zeros gives the heuristic's own value. 0 stays 0; any other value can become any value above 0. Example: at a highest value of 100,
    the heuristic's 25 and a head of ln 2 give 100 * 0.25 ** 0.5 = 50.

    Raises:
        TaskError: the heuristic's value is not observed.
    """

    def __init__(self, observation_space: spaces.Dict, config: NetworkConfig, architecture: Architecture) -> None:
        super().__init__()
        self.features = Features(observation_space, actions=1, architecture=architecture)
        self.head = Mlp(self.features.width, 1, config)
        default = observed_heuristic(architecture, observation_space)
        if default is None:
            raise TaskError("a value is learnt from the compiler's own, which is not told: expected told=1")
        space = observation_space[default]
        assert isinstance(space, spaces.Box)
        self.default, self.highest = default, float(space.high.item())

    @property
    def summary_width(self) -> int:
        """The number of features."""
        return self.features.width

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        return self.highest * self._raised(observation, self.head(self.features(observation)))

    def rate(self, observation: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the power's inverse, ``[batch, 1]``, and the features, ``[batch, summary_width]``."""
        features = self.features(observation)
        return self.head(features), features

    def action(self, observation: Mapping[str, Tensor], rating: Tensor, space: spaces.Box) -> Tensor:
        """Return the action for what ``rate`` returned, or for what was drawn around it."""
        return self._raised(observation, rating) * space.high.item()

    def _raised(self, observation: Mapping[str, Tensor], rating: Tensor) -> Tensor:
        """Return the value as a fraction of the highest."""
        return (observation[self.default].float() / self.highest).pow((-rating).exp())
