# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network for choices with the same features each: one perceptron rates every column of an observation, independent of its place."""

from collections.abc import Mapping, Sequence

import torch
from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.features import MIN_DEVIATION, scaled
from mlcb_gym.agents.heuristic import observed_heuristic
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.agents.standardised import Standardised
from mlcb_gym.spec import MASK

CHOSEN, LAST = -3, -2
"""Indices of the features of a column that are 1 where the heuristic chooses it, and in the last one."""

MARGIN = 1.0
"""Logit that the heuristic's column gets in advance: a head of zeros decides as the heuristic does."""


class ColumnFeatures(Standardised):
    """The features of every column, ``[batch, columns * per_column]`` float32: its own numbers, their differences from those of the column that the
    heuristic chooses and from those of the last one (which stands for choosing none), its vectors, and the numbers that belong to no column. They are
    standardised over the columns that may be chosen; three flags are not.
    """

    def __init__(self, observation_space: spaces.Dict, *, actions: int, architecture: Architecture = Architecture()) -> None:
        super().__init__(least=MIN_DEVIATION)
        self.actions, self.kinds = actions, architecture.features
        shapes = {name: space.shape or () for name, space in observation_space.items() if not isinstance(space, spaces.MultiBinary)}
        self.inputs = tuple(shapes)
        shapes = {name: shape for name, shape in shapes.items() if 0 not in shape}
        self.columns = tuple(name for name, shape in shapes.items() if shape == (actions,))
        self.vectors = tuple(name for name, shape in shapes.items() if len(shape) == 2 and shape[0] == actions)
        self.default = observed_heuristic(architecture, observation_space)
        taken = {*self.columns, *self.vectors, self.default}
        self.single = tuple(name for name, shape in shapes.items() if len(shape) == 1 and name not in taken)
        sample = {name: torch.zeros((1, *(observation_space[name].shape or ()))) for name in self.inputs}
        flags = self._flags(sample)
        width = self._continuous(sample, flags).shape[2]
        self.begin(width)
        self.per_column = width + flags.shape[2]
        self.width = self.actions * self.per_column

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        flags = self._flags(observation)
        continuous = self._continuous(observation, flags)
        if self.learns:
            self.learn(_allowed(continuous, observation))
        return torch.cat([self.standardised(continuous), flags], dim=2).flatten(1)

    def standardise(self, observation: Mapping[str, Tensor]) -> None:
        """Fixes the statistics to those of a batch of observations."""
        self.fix(_allowed(self._continuous(observation, self._flags(observation)), observation))

    def _continuous(self, observation: Mapping[str, Tensor], flags: Tensor) -> Tensor:
        """``[batch, columns, width]``, see the class."""
        own = torch.cat([self._scaled(name, observation[name].reshape(-1, 1)).unflatten(0, (-1, self.actions)) for name in self.columns], dim=2)
        from_chosen, from_last = (own - (flags[:, :, place].unsqueeze(2) * own).sum(dim=1, keepdim=True) for place in (CHOSEN, LAST))
        single = [self._scaled(name, observation[name]).unsqueeze(1).expand(-1, self.actions, -1) for name in self.single]
        vectors = [observation[name].float() for name in self.vectors]
        return torch.cat([own, from_chosen, from_last, *vectors, *single], dim=2)

    def _scaled(self, name: str, value: Tensor) -> Tensor:
        return scaled(self.kinds.get(name), value.float(), None)

    def _flags(self, observation: Mapping[str, Tensor]) -> Tensor:
        """1 at the heuristic's column, at the last one, and in all where these are the same, ``[batch, columns, 3]``."""
        chosen = self._chosen(observation)
        last = torch.zeros_like(chosen)
        last[:, -1] = 1
        return torch.stack([chosen, last, chosen[:, -1:].expand(-1, self.actions)], dim=2)

    def _chosen(self, observation: Mapping[str, Tensor]) -> Tensor:
        """1 at the heuristic's column, ``[batch, columns]``; all zeros where that is not observed."""
        if self.default is None:
            return torch.zeros_like(observation[self.columns[0]], dtype=torch.float32)
        own = observation[self.default]
        return (own == torch.arange(self.actions, device=own.device)).float()


def _allowed(columns: Tensor, observation: Mapping[str, Tensor]) -> Tensor:
    """Return the columns that may be chosen, ``[chosen, width]``; all of them where a mask is not observed."""
    mask = observation.get(MASK)
    return columns.flatten(0, 1) if mask is None else columns[mask.bool()]


class ColumnHead(nn.Module):
    """A perceptron from the features of a column to its logit, the same for all columns; the heuristic's is ``MARGIN`` ahead."""

    def __init__(self, features: ColumnFeatures, config: NetworkConfig) -> None:
        super().__init__()
        self.shape: Sequence[int] = (-1, features.actions, features.per_column)
        self.layers = Mlp(features.per_column, 1, config)

    def forward(self, features: Tensor) -> Tensor:
        columns = features.reshape(self.shape)
        logits: Tensor = self.layers(columns).squeeze(2)
        return logits + MARGIN * columns[:, :, CHOSEN]
