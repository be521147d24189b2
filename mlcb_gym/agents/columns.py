# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network for choices with the same features each: one perceptron rates every column of an observation, independent of its place."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import torch
from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.features import FREQUENT, MIN_DEVIATION, scaled
from mlcb_gym.agents.heuristic import observed_heuristic
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.agents.standardised import Standardised
from mlcb_gym.envs.record import FeatureKind
from mlcb_gym.spec import MASK

BEHIND, CHOSEN, LAST = -4, -3, -2
"""Indices of features of a column: how far its score is behind that of the heuristic's, where there are scores; 1 where the heuristic chooses it; 1
in the last one."""

MARGIN = 1.0
"""Logit that the heuristic's column gets in advance: a head of zeros decides as the heuristic does."""


class ColumnFeatures(Standardised):
    """The features of every column, ``[batch, columns * per_column]`` float32: its own numbers, their differences from those of the column that the
    heuristic chooses and from those of the last one (which stands for choosing none), its vectors, and the numbers that belong to no column. They are
    standardised over the columns that may be chosen; three flags, and how far a score is behind, are not.
    """

    def __init__(self, observation_space: spaces.Dict, *, actions: int, architecture: Architecture = Architecture()) -> None:
        super().__init__(least=MIN_DEVIATION)
        self.actions = actions
        shapes = {name: space.shape or () for name, space in observation_space.items() if not isinstance(space, spaces.MultiBinary)}
        self.inputs = tuple(shapes)
        shapes = {name: shape for name, shape in shapes.items() if 0 not in shape}
        columns = tuple(name for name, shape in shapes.items() if shape == (actions,))
        self.vectors = tuple(name for name, shape in shapes.items() if len(shape) == 2 and shape[0] == actions)
        self.default = observed_heuristic(architecture, observation_space)
        taken = {*columns, *self.vectors, self.default}
        self.columns = _by_kind(columns, architecture)
        self.single = _by_kind([name for name, shape in shapes.items() if len(shape) == 1 and name not in taken], architecture)
        self.score = {name: architecture.score[name] for name in columns if name in architecture.score}
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
        own = self._as_columns([_scaled(self.columns, observation)])
        from_chosen, from_last = own - flags[:, None, :, CHOSEN] @ own, own - own[:, -1:]
        single = [_scaled(self.single, observation).unsqueeze(1).expand(-1, self.actions, -1)] if self.single else []
        vectors = [observation[name].float() for name in self.vectors]
        return torch.cat([own, from_chosen, from_last, *vectors, *single], dim=2)

    def _as_columns(self, numbers: Sequence[Tensor]) -> Tensor:
        """``[batch, columns, width]`` of numbers for each column, ``[batch, n * columns]``."""
        return torch.cat([*numbers], dim=1).unflatten(1, (-1, self.actions)).transpose(1, 2)

    def _flags(self, observation: Mapping[str, Tensor]) -> Tensor:
        """How far a column's score is behind that of the heuristic's, where there are scores; 1 at the heuristic's column, at the last one, and in
        all where these are the same: ``[batch, columns, 3 or 4]``."""
        chosen = self._chosen(observation)
        last = (torch.arange(self.actions, device=chosen.device) == self.actions - 1).float().expand_as(chosen)
        behind = [self._behind(observation, chosen)] if self.score else []
        return self._as_columns([*behind, chosen, last, chosen[:, -1:].expand_as(chosen)])

    def _behind(self, observation: Mapping[str, Tensor], chosen: Tensor) -> Tensor:
        """How far the score of each column is behind that of the heuristic's, ``[batch, columns]``."""
        score = torch.asinh(FREQUENT * reduce(torch.add, [weight * observation[name].float() for name, weight in self.score.items()]))
        return ((chosen * score).sum(dim=1, keepdim=True) - score).clamp_min(0.0)

    def _chosen(self, observation: Mapping[str, Tensor]) -> Tensor:
        """1 at the heuristic's column, ``[batch, columns]``; all zeros where that is not observed."""
        if self.default is None:
            return torch.zeros_like(observation[next(iter(self.columns.values()))[0]], dtype=torch.float32)
        own = observation[self.default]
        return (own == torch.arange(self.actions, device=own.device)).float()


Kinds = Mapping[FeatureKind | None, Sequence[str]]
"""Tensors of each kind, which are scaled together: a network of few operations is fast in a compiler."""


def _by_kind(names: Iterable[str], architecture: Architecture) -> Kinds:
    kinds: dict[FeatureKind | None, list[str]] = {}
    for name in names:
        kinds.setdefault(architecture.features.get(name), []).append(name)
    return kinds


def _scaled(kinds: Kinds, observation: Mapping[str, Tensor]) -> Tensor:
    """The features of tensors ``[batch, n]``, all of a kind side by side, and kind after kind."""
    return torch.cat([scaled(kind, torch.cat([observation[n].float() for n in names], dim=1), None) for kind, names in kinds.items()], dim=1)


def _allowed(columns: Tensor, observation: Mapping[str, Tensor]) -> Tensor:
    """Return the columns that may be chosen, ``[chosen, width]``; all of them where a mask is not observed."""
    mask = observation.get(MASK)
    return columns.flatten(0, 1) if mask is None else columns[mask.bool()]


class ColumnHead(nn.Module):
    """A perceptron from the features of a column to its logit, the same for all columns; the heuristic's is ``MARGIN`` ahead, and others are behind
    by their scores."""

    def __init__(self, features: ColumnFeatures, config: NetworkConfig) -> None:
        super().__init__()
        self.scored = bool(features.score)
        self.shape: Sequence[int] = (-1, features.actions, features.per_column)
        self.layers = Mlp(features.per_column, 1, config)

    def forward(self, features: Tensor) -> Tensor:
        columns = features.reshape(self.shape)
        logits: Tensor = self.layers(columns).squeeze(2)
        logits = logits + MARGIN * columns[:, :, CHOSEN]
        return logits - columns[:, :, BEHIND] if self.scored else logits
