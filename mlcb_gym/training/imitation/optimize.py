# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradient descent on a loss over rows."""

import os
from collections.abc import Callable

import torch
from torch import Tensor, nn

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.recipe import Distillation


def limit_threads() -> None:
    """Limit PyTorch to one thread, unless ``OMP_NUM_THREADS``, which it reads itself, has a number: these networks are too small for a second one."""
    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(1)


def minimize(module: nn.Module, loss: Callable[[Tensor], Tensor], rows: int, distillation: Distillation) -> None:
    """Minimise a loss by AdamW over shuffled batches of ``rows`` rows, with one cycle of the learning rate; ``loss`` gets the rows of a batch.

    Raises:
        TrainingError: the loss, or a weight, is no longer a number.
    """
    limit_threads()
    optimizer = torch.optim.AdamW(module.parameters(), lr=distillation.lr, weight_decay=distillation.weight_decay)
    steps = distillation.epochs * -(-rows // distillation.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, distillation.lr, total_steps=steps)
    module.train()
    for _ in range(distillation.epochs):
        for drawn in torch.randperm(rows).split(distillation.batch):
            optimizer.zero_grad()
            loss(drawn).backward()
            norm = torch.nn.utils.clip_grad_norm_(module.parameters(), distillation.clip)
            if not norm.isfinite():
                raise TrainingError(f"the gradient of the loss is {norm.item()}, expected a number: a lower distillation.lr may help")
            optimizer.step()
            schedule.step()
