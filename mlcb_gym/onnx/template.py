# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX files of networks that differ in their weights alone, from one export, which takes seconds."""

import tempfile
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

from mlcb_gym.errors import PolicyError
from mlcb_gym.onnx.write import write_onnx


@dataclass(frozen=True)
class _Slot:
    """The place of a parameter's weights in a file, and whether they lie there transposed."""

    initializer: int
    parameter: str
    transposed: bool


class OnnxTemplate:
    """The ONNX file of a network for an agent, whose weights can be replaced.

    Raises:
        PolicyError: the exporter made something else of a parameter than to store it.
    """

    def __init__(self, network: nn.Module, agent: Mapping[str, Any]) -> None:
        network = _marked(network)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            write_onnx(network, path, agent=agent, metadata={})
            self._model = onnx.load(str(path))
        stored = [numpy_helper.to_array(initializer) for initializer in self._model.graph.initializer]
        self._slots = [_slot(name, parameter.detach().numpy(), stored) for name, parameter in network.named_parameters()]

    def filled(self, network: nn.Module) -> bytes:
        """Return the file with the weights of a network of the same architecture."""
        parameters = dict(network.named_parameters())
        for slot in self._slots:
            weights = parameters[slot.parameter].detach().numpy()
            self._model.graph.initializer[slot.initializer].raw_data = (weights.T if slot.transposed else weights).tobytes()
        return bytes(self._model.SerializeToString())


def _marked(network: nn.Module) -> nn.Module:
    """Return a copy in which no two parameters have the same weights, so that each is found again."""
    copy = deepcopy(network)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in copy.parameters():
            parameter.copy_(torch.rand(parameter.shape, generator=generator) + 1)
    return copy


def _slot(name: str, weights: np.ndarray, stored: list[np.ndarray]) -> _Slot:
    for index, values in enumerate(stored):
        for transposed in (False, True):
            if np.array_equal(values, weights.T if transposed else weights):
                return _Slot(index, name, transposed)
    raise PolicyError(f"{name}: the ONNX file has no such weights, so they cannot be replaced")
