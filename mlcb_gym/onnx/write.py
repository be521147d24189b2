# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Torch networks of agents as ONNX files."""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mlcb_gym.errors import PolicyError
from mlcb_gym.onnx.manifest import OUTPUTS

OPSET = 18
_FAILURES = (RuntimeError, TypeError, ValueError, LookupError, AttributeError, AssertionError)
"""What networks of somebody else raise on inputs that they were not made for."""
VARYING = 2
"""The least length of an axis that varies: what has fewer leaves nothing to choose."""


def write_onnx(network: nn.Module, path: Path, *, agent: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """Write the graph of a network, from those declared tensors that it reads, with a leading batch axis, to its output.

    The output is float32, ``logits`` [batch, choices] or ``value`` [batch, 1].

    Raises:
        PolicyError: the network fails on tensors of zeros, its output is another, or torch cannot export it.
    """
    declared = [t for t in agent["inputs"] if t["role"] != "mask" and 0 not in t["shape"]]
    names = [t["name"] for t in declared]
    # An axis traced with size 1 would be fixed at 1.
    shapes = [[2, *(VARYING if isinstance(length, dict) else length for length in t["shape"])] for t in declared]
    example = tuple(torch.zeros(shape, dtype=getattr(torch, t["dtype"])) for shape, t in zip(shapes, declared, strict=True))
    axis = torch.export.Dim("batch", min=1, max=4096)
    positional = _Positional(network, names, scalars=frozenset(t["name"] for t in declared if not t["shape"])).eval()
    _check(positional, example, agent)
    try:
        with _quiet():
            program = torch.onnx.export(
                positional,
                example,
                input_names=names,
                output_names=[OUTPUTS[agent["advice"]["kind"]]],
                dynamic_shapes=(tuple({0: axis, **_varying(t["shape"])} for t in declared),),
                opset_version=OPSET,
                dynamo=True,
                external_data=False,
            )
    except _FAILURES as error:
        why = error.__cause__ or error
        raise PolicyError(f"{agent['name']}: torch cannot export the network: {type(why).__name__}: {str(why).partition(chr(10))[0]}") from error
    assert program is not None
    # What the network does not look at, a compiler need not work out.
    graph = program.model.graph
    graph.inputs[:] = [i for i in graph.inputs if i.uses()]
    graph.metadata_props.clear()  # names that torch gives, not always the same ones
    for node in graph.all_nodes():  # stack traces: paths of this machine
        node.metadata_props.clear()
    program.model.metadata_props.update(metadata)
    program.save(str(path), external_data=False)


def _check(network: "_Positional", example: Sequence[Tensor], agent: Mapping[str, Any]) -> None:
    """Raise PolicyError where a network does not take the tensors of its agent, or its output is not what the compiler expects."""
    name, advice = agent["name"], agent["advice"]
    try:
        with torch.no_grad():
            output = network(*example)
    except _FAILURES as error:
        said = str(error).partition("\n")[0]
        raise PolicyError(
            f"{name}: the network fails on zeros, with {type(error).__name__}: {said}; expected one that takes a dict of the tensors "
            f"{', '.join(network.names)}, with a leading batch axis"
        ) from error
    shape, varies = tuple(getattr(output, "shape", ())), any(isinstance(length, dict) for t in agent["inputs"] for length in t["shape"])
    expected = (len(example[0]), 1 if advice["kind"] == "value" else shape[-1] if varies and shape else advice["choices"])
    if shape != expected:
        got = list(shape) if shape else type(output).__name__
        raise PolicyError(f"{name}: the network gives {got} for a batch of {expected[0]}, expected {OUTPUTS[advice['kind']]} {list(expected)}")


def _varying(shape: Sequence[Any]) -> dict[int, Any]:
    """Return the axes of variable length behind the batch; axes with the same maximum have the same length."""
    lengths = {axis: d["at_most"] for axis, d in enumerate(shape, 1) if isinstance(d, dict)}
    return {axis: torch.export.Dim(f"up_to_{length}", min=VARYING, max=length) for axis, length in lengths.items()}


class _Positional(nn.Module):
    """The network with positional inputs in declared order, as the exporter needs them; it gets scalars as they are observed, ``[batch, 1]``."""

    def __init__(self, network: nn.Module, names: Sequence[str], scalars: frozenset[str]) -> None:
        super().__init__()
        self.network, self.names, self.scalars = network, tuple(names), scalars

    def forward(self, *inputs: Tensor) -> Tensor:
        observation = {name: value.unsqueeze(1) if name in self.scalars else value for name, value in zip(self.names, inputs, strict=True)}
        logits: Tensor = self.network(observation)
        return logits


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter, which reports its progress on standard output and warns of its own internals."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
