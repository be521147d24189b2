# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler's own heuristic as a network."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class Heuristic(nn.Module):
    """Answers as an observation says that the compiler would.

    Args:
        tensor: which says so.
        actions: of how many choices; 0 where it is a value.
    """

    def __init__(self, tensor: str, actions: int) -> None:
        super().__init__()
        self.tensor, self.actions = tensor, actions

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        told = observation[self.tensor]
        return (told == torch.arange(self.actions)).float() if self.actions else told.float()
