# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler's own heuristic as a network."""

from collections.abc import Mapping

import torch
from gymnasium import spaces
from torch import Tensor, nn

from mlcb_gym.agents.architecture import Architecture


class Heuristic(nn.Module):
    """A network whose output is the heuristic's own advice, which is observed.

    Args:
        tensor: the name of the tensor with that advice.
        actions: the number of choices; 0 for a value.
    """

    def __init__(self, tensor: str, actions: int) -> None:
        super().__init__()
        self.tensor, self.actions = tensor, actions

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        own = observation[self.tensor]
        return (own == torch.arange(self.actions, device=own.device)).float() if self.actions else own.float()


def observed_heuristic(architecture: Architecture, observation_space: spaces.Dict) -> str | None:
    """Return the tensor with the heuristic's answer; None where an observation does not hold it."""
    name = architecture.heuristic
    return name if name in observation_space.spaces and observation_space[name].shape == (1,) else None
