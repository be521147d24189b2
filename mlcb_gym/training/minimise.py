# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one loop of supervised fitting: AdamW over shuffled batches, its learning rate rising and falling once."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """How to fit.

    Args:
        lr: the highest learning rate.
        clip: the norm that a gradient is cut to; infinite for none.
        seed: of the initial weights, and of the order of the rows.
    """

    epochs: int = 60
    batch: int = 256
    lr: float = 1e-3
    weight_decay: float = 1e-2
    clip: float = 1.0
    seed: int = 1


def minimise(module: nn.Module, loss: Callable[[Tensor], Tensor], rows: int, fitting: Fitting) -> None:
    """Fits ``module``, which is left in training mode.

    Args:
        loss: from the indices of a batch of rows to their scalar loss.
        rows: how many there are.
    """
    optimizer = torch.optim.AdamW(module.parameters(), lr=fitting.lr, weight_decay=fitting.weight_decay)
    batches = -(-rows // fitting.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, fitting.lr, total_steps=fitting.epochs * batches)
    module.train()
    for _ in range(fitting.epochs):
        for drawn in torch.randperm(rows).split(fitting.batch):
            optimizer.zero_grad()
            loss(drawn).backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), fitting.clip)
            optimizer.step()
            schedule.step()
