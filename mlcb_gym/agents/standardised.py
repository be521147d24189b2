# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Standardisation inside a network, so that an exported policy takes the tensors that the compiler sends."""

import torch
from torch import Tensor, nn

CLIP = 8.0
"""Bound of standardised features: a module far outside the training programs must not saturate the network."""

LEARNT = 20_000
"""The number of rows that statistics are learnt from where they were not measured before: then they stay, for a policy must stand on firm ground."""


class Standardised(nn.Module):
    """A module with the mean and the deviation of its features, ``[width]`` each: measured once by ``fix``, or else learnt in training from the
    first ``LEARNT`` rows that are passed with gradients.

    Args:
        least: the least deviation that a feature is divided by: one that hardly varies in training gets no more weight.
    """

    mean: Tensor
    deviation: Tensor
    rows: Tensor

    def __init__(self, least: float) -> None:
        super().__init__()
        self._least = least

    def begin(self, width: int) -> None:
        """Begins with a mean of 0 and a deviation of 1 for so many features."""
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("deviation", torch.ones(width))
        self.register_buffer("rows", torch.zeros((), dtype=torch.int64))

    def standardised(self, features: Tensor) -> Tensor:
        """Return features ``[..., width]`` less the mean, divided by the deviation, within ``CLIP``."""
        return ((features - self.mean) / self.deviation).clamp(-CLIP, CLIP)

    @property
    def learns(self) -> bool:
        """Whether this pass is one that statistics are learnt from."""
        return self.training and torch.is_grad_enabled() and int(self.rows) < LEARNT

    @torch.no_grad()
    def learn(self, features: Tensor) -> None:
        """Adds rows ``[rows, width]`` to the statistics (Chan et al., 1979)."""
        known, more = int(self.rows), features.shape[0]
        if more == 0:
            return
        share, shift = more / (known + more), features.mean(dim=0) - self.mean
        variance = (1 - share) * self.deviation**2 + share * features.var(dim=0, correction=0)
        self.deviation.copy_((variance + share * (1 - share) * shift**2).sqrt().clamp_min(self._least))
        self.mean.add_(share * shift)
        self.rows.add_(more)

    @torch.no_grad()
    def fix(self, features: Tensor, *, correction: int = 0) -> None:
        """Fixes the statistics to those of the rows ``[rows, width]``."""
        self.mean.copy_(features.mean(dim=0))
        self.deviation.copy_(features.std(dim=0, correction=correction).clamp_min(self._least))
        self.rows.fill_(LEARNT)
