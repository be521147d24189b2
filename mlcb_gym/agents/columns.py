# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network for choices with the same features each: one perceptron rates every column of an observation, independent of its place."""

from collections.abc import Mapping, Sequence

import torch
from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.heuristic import observed_heuristic
from mlcb_gym.agents.mlp import Mlp, NetworkConfig

CHOSEN = -3
"""Index of the feature of a column that is 1 where the heuristic chooses it."""

MARGIN = 1.0
"""Logit that the heuristic's column gets in advance: a head of zeros decides as the heuristic does."""


class ColumnFeatures(nn.Module):
    """The features of every column, ``[batch, columns * per_column]`` float32: its own numbers, their differences from those of the column that the
    heuristic chooses and from those of the last one (which stands for choosing none), its vectors, and the numbers that belong to no column.

    Nothing is standardised: the numbers are ratios to the largest of an observation already.
    """

    def __init__(self, observation_space: spaces.Dict, *, actions: int, architecture: Architecture = Architecture()) -> None:
        super().__init__()
        self.actions = actions
        shapes = {name: space.shape or () for name, space in observation_space.items() if not isinstance(space, spaces.MultiBinary)}
        self.inputs = tuple(shapes)
        shapes = {name: shape for name, shape in shapes.items() if 0 not in shape}
        self.columns = tuple(name for name, shape in shapes.items() if shape == (actions,))
        self.vectors = tuple(name for name, shape in shapes.items() if len(shape) == 2 and shape[0] == actions)
        self.default = observed_heuristic(architecture, observation_space)
        taken = {*self.columns, *self.vectors, self.default}
        self.single = tuple(name for name, shape in shapes.items() if len(shape) == 1 and name not in taken)
        width = sum(shapes[name][-1] for name in (*self.vectors, *self.single))
        self.per_column = 3 * len(self.columns) + width + 3
        self.width = self.actions * self.per_column

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        own = torch.stack([torch.asinh(observation[name].float()) for name in self.columns], dim=2)
        chosen = self._chosen(observation, own)
        last = torch.zeros_like(chosen)
        last[:, -1] = 1
        single = [torch.asinh(observation[name].float()).unsqueeze(1).expand(-1, self.actions, -1) for name in self.single]
        vectors = [observation[name].float() for name in self.vectors]
        from_chosen, from_last = (own - (where.unsqueeze(2) * own).sum(dim=1, keepdim=True) for where in (chosen, last))
        none_chosen = chosen[:, -1:].expand(-1, self.actions)
        flags = torch.stack([chosen, last, none_chosen], dim=2)
        return torch.cat([own, from_chosen, from_last, *vectors, *single, flags], dim=2).flatten(1)

    def standardise(self, observation: Mapping[str, Tensor]) -> None:
        """Does nothing."""

    def _chosen(self, observation: Mapping[str, Tensor], own: Tensor) -> Tensor:
        """1 at the heuristic's column, ``[batch, columns]``; all zeros where that is not observed."""
        if self.default is None:
            return torch.zeros_like(own[:, :, 0])
        return (observation[self.default] == torch.arange(self.actions, device=own.device)).float()


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
