# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From raw observations to normalised features, inside the network, so that an exported policy takes the tensors that the compiler sends.

Modules differ in size by orders of magnitude. A count therefore becomes two features: its logarithm is about the size of the module, its ratio
to the number of instructions about its composition. Continuous features are standardised, see ``mlcb_gym.agents.standardised``.
"""

from collections.abc import Mapping

import torch
from gymnasium import spaces
from torch import Tensor

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.standardised import Standardised
from mlcb_gym.envs.record import FeatureKind

THRESHOLD_LIMIT = 200.0
"""Bound of the unscaled feature of a ``THRESHOLD`` tensor."""

MANY = 4
"""A ``FEW`` tensor is one-hot over 0 to this number, which stands for all above it too."""

WEIGHTS = (1e-6, 1e9)
"""Bounds of a ``WEIGHT`` tensor; what is above the second counts as infinite."""

FREQUENT = 100.0
"""A ``COST`` tensor has the logarithm of what a block costs that runs more than once in so many calls of its function."""

MIN_DEVIATION = 1e-3
"""Least standard deviation that a feature is divided by: one that hardly varies in training gets no more weight."""


class Features(Standardised):
    """The features of an observation, ``[batch, width]`` float32; a tensor without a kind becomes ``asinh`` of its elements.

    Args:
        actions: the number of choices.
        architecture: has the kinds of tensors.
    """

    def __init__(self, observation_space: spaces.Dict, *, actions: int, architecture: Architecture = Architecture()) -> None:
        super().__init__(least=MIN_DEVIATION)
        self.actions, self.kinds = actions, dict(architecture.features)
        self.inputs = tuple(name for name, space in observation_space.spaces.items() if not isinstance(space, spaces.MultiBinary))
        self._last, self._few = (architecture.named(kind, observation_space) for kind in (FeatureKind.ACTIONS, FeatureKind.FEW))
        self._totals = next(iter(architecture.named(FeatureKind.TOTALS, observation_space)), None)
        sample = {name: torch.zeros((1, *(observation_space[name].shape or ()))) for name in self.inputs}
        self.categorical_width = self._categorical(sample).shape[1]
        width = self._continuous(sample).shape[1]
        self.begin(width)
        self.width = width + self.categorical_width

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        continuous = self._continuous(observation)
        if self.learns:
            self.learn(continuous)
        return torch.cat([self.standardised(continuous), self._categorical(observation)], dim=1)

    def standardise(self, observation: Mapping[str, Tensor]) -> None:
        """Fixes the statistics to those of a batch of observations."""
        self.fix(self._continuous(observation), correction=1)

    def _continuous(self, observation: Mapping[str, Tensor]) -> Tensor:
        total = None if self._totals is None else observation[self._totals][:, :1].float().clamp_min(1.0)
        parts = [scaled(self.kinds.get(name), observation[name].float(), total) for name in self.inputs if name not in self._last]
        return torch.cat(parts, dim=1)

    def _categorical(self, observation: Mapping[str, Tensor]) -> Tensor:
        any_of_it = next(iter(observation.values()))
        parts = [torch.zeros((any_of_it.shape[0], 0), device=any_of_it.device)]
        parts += [_one_hot(observation[name], self.actions) for name in self._last]
        parts += [_one_hot(observation[name].clamp(max=MANY), MANY + 1) for name in self._few]
        return torch.cat(parts, dim=1)


def scaled(kind: FeatureKind | None, value: Tensor, total: Tensor | None) -> Tensor:
    """Return the continuous features of a tensor, ``[batch, width]``; ``total`` is the number of instructions, where that is known."""
    value = value.flatten(1) if value.dim() > 1 else value.unsqueeze(1)
    if kind == FeatureKind.FRACTION:
        return value
    if kind == FeatureKind.TOTALS:
        logs = value.clamp_min(1.0).log()
        return torch.cat([logs, logs[:, :1] - logs[:, 1:]], dim=1)
    if kind == FeatureKind.WEIGHT:
        infinite = value > WEIGHTS[1]
        return torch.cat([value.masked_fill(infinite, 1.0).clamp(*WEIGHTS).log(), infinite.float()], dim=1)
    if kind == FeatureKind.COST:
        infinite = value >= WEIGHTS[1]
        return torch.cat([torch.asinh(value.masked_fill(infinite, 0.0) * FREQUENT), infinite.float()], dim=1)
    if kind == FeatureKind.THRESHOLD:
        return torch.cat([torch.asinh(value), value.clamp(-THRESHOLD_LIMIT, THRESHOLD_LIMIT)], dim=1)
    if kind == FeatureKind.EXTENSIVE and total is not None:
        return torch.cat([torch.asinh(value), value / total], dim=1)
    return torch.asinh(value)


def _one_hot(value: Tensor, choices: int) -> Tensor:
    """Zeros where the value is none of the choices."""
    return (value.long().unsqueeze(-1) == torch.arange(choices, device=value.device)).float().flatten(1)
