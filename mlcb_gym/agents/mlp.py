# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The multilayer perceptron at the end of every network."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from torch import nn

from mlcb_gym.errors import TaskError


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

    def __post_init__(self) -> None:
        """Raises TaskError: dropout is no share."""
        if not 0 <= self.dropout < 1:
            raise TaskError(f"network: dropout={self.dropout}, expected 0 or more, and less than 1")

    @classmethod
    def of(cls, model_config: Mapping[str, Any]) -> "NetworkConfig":
        """Return the size that a ``model_config`` has under ``network``; the default one where it has none.

        Raises:
            TaskError: it has something else there, as a search space that Tune did not expand, or a size beside ``network``.
        """
        names = [f.name for f in fields(cls)]
        if misplaced := sorted(set(model_config) & set(names)):
            raise TaskError(f"model_config: {', '.join(misplaced)} beside network, expected {{'network': {{'{misplaced[0]}': ...}}}}")
        given = model_config.get("network", {})
        if unknown := sorted(set(given) - set(names)):
            raise TaskError(f"network: no {', '.join(unknown)}, expected some of {', '.join(names)}")
        hidden = given.get("hidden", cls.hidden)
        if not isinstance(hidden, list | tuple) or not all(isinstance(width, int) and width > 0 for width in hidden):
            raise TaskError(
                f"network: hidden={hidden!r}, expected widths as [256, 256]; Tune expands grid_search in model_config=, not inside an RLModuleSpec"
            )
        return cls(**{**given, "hidden": tuple(hidden)})


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
