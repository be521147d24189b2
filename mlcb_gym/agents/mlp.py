# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The multilayer perceptron at the end of every network."""

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class NetworkConfig:
    """The size of a network.

    Args:
        hidden: the widths of the hidden layers.
        dropout: the share of activations that are dropped in training.
        final_gain: the scale of the initial weights of the head: near 0 the first policy is uniform over the allowed actions.
    """

    hidden: tuple[int, ...] = (256, 256)
    dropout: float = 0.0
    final_gain: float = 0.01


class Mlp(nn.Sequential):
    """Linear, layer norm, SiLU, for each hidden width, then a linear head."""

    def __init__(self, inputs: int, outputs: int, config: NetworkConfig) -> None:
        layers: list[nn.Module] = []
        for width in config.hidden:
            layers += [nn.Linear(inputs, width), nn.LayerNorm(width), nn.SiLU(), nn.Dropout(config.dropout)]
            inputs = width
        head = nn.Linear(inputs, outputs)
        nn.init.orthogonal_(head.weight, config.final_gain)
        nn.init.zeros_(head.bias)
        super().__init__(*layers, head)
