# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a policy folder: one ONNX file per agent, and ``policy.json``, which says all that a compiler must know of it."""

import json
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mlcb_gym.agents.team import Team
from mlcb_gym.errors import PolicyError
from mlcb_gym.export.checkpoint import load_network
from mlcb_gym.export.prepacking import gains_from_prepacking
from mlcb_gym.onnx.manifest import MANIFEST, OUTPUTS
from mlcb_gym.training.checkpoints import read_run

FORMAT = 1
OPSET = 18
VARYING = 2
"""The least length of an axis that varies: what has fewer leaves nothing to choose."""


def export_policy(checkpoint: Path, folder: Path, *, results: Mapping[str, Any] | None = None) -> Path:
    """Writes the policy of a checkpoint to ``folder``, whole or not at all; an older policy there is replaced.

    Raises:
        PolicyError: ``checkpoint`` is none that ``train`` wrote.
    """
    network, run = load_network(checkpoint), read_run(checkpoint)
    networks = dict(network) if isinstance(network, Team) else network
    return write_policy(networks, folder, spec=run["spec"], trained=_trained(run), results=results or {})


def write_policy(
    networks: nn.Module | Mapping[str, nn.Module],
    folder: Path,
    *,
    spec: Mapping[str, Any],
    trained: Mapping[str, Any],
    results: Mapping[str, Any],
) -> Path:
    """Writes a policy folder for a bound spec.

    Args:
        networks: of each agent, by its name; or of the only one. From a mapping of its tensors to ``[batch, choices]``, or ``[batch, 1]``.
        spec: the bound spec, as ``env.task_spec.declared`` has it.
        trained: how the policy came about.
        results: what was measured of it, with machine and commit.
    """
    agents = spec["agents"]
    by_agent = {agents[0]["name"]: networks} if isinstance(networks, nn.Module) else networks
    if sorted(by_agent) != sorted(a["name"] for a in agents):
        raise PolicyError(f"{folder}: networks of {', '.join(by_agent)}, expected one for each of {', '.join(a['name'] for a in agents)}")
    manifest = {
        "format": FORMAT,
        "task": spec["task"],
        "parameters": spec["parameters"],
        "digest": spec["digest"],
        "agents": {a["name"]: f"{a['name']}.onnx" for a in agents},
        "spec": spec,
        "trained": trained,
        "results": results,
    }
    with _replacing(folder) as partial:
        for agent in agents:
            model = partial / manifest["agents"][agent["name"]]
            write_onnx(by_agent[agent["name"]], model, agent=agent, metadata={"task": spec["task"], "digest": spec["digest"]})
        manifest["prepacking"] = {a["name"]: gains_from_prepacking(partial / manifest["agents"][a["name"]], a) for a in agents}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    return folder


def write_onnx(network: nn.Module, path: Path, *, agent: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """Writes the graph: of the declared tensors those that the network reads, with a leading batch axis, to its output.

    The output is float32, ``logits`` [batch, choices] or ``value`` [batch, 1].
    """
    declared = [t for t in agent["inputs"] if t["role"] != "mask"]
    names = [t["name"] for t in declared]
    # An axis traced with size 1 would be fixed at 1.
    shapes = [[2, *(VARYING if isinstance(length, dict) else length for length in t["shape"])] for t in declared]
    example = tuple(torch.zeros(shape, dtype=getattr(torch, t["dtype"])) for shape, t in zip(shapes, declared, strict=True))
    axis = torch.export.Dim("batch", min=1, max=4096)
    with _quiet():
        program = torch.onnx.export(
            _Positional(network, names).eval(),
            example,
            input_names=names,
            output_names=[OUTPUTS[agent["advice"]["kind"]]],
            dynamic_shapes=(tuple({0: axis, **_varying(t["shape"])} for t in declared),),
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
        )
    assert program is not None
    # What the network does not look at, a compiler need not work out.
    graph = program.model.graph
    graph.inputs[:] = [i for i in graph.inputs if i.uses()]
    program.model.metadata_props.update(metadata)
    program.save(str(path), external_data=False)


def _varying(shape: Sequence[Any]) -> dict[int, Any]:
    """The axes behind the batch that have their true length; those that may be as long are as long."""
    lengths = {axis: d["at_most"] for axis, d in enumerate(shape, 1) if isinstance(d, dict)}
    return {axis: torch.export.Dim(f"up_to_{length}", min=VARYING, max=length) for axis, length in lengths.items()}


class _Positional(nn.Module):
    """The network with its inputs in declared order instead of by name, as the exporter wants them."""

    def __init__(self, network: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.network, self.names = network, tuple(names)

    def forward(self, *inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(dict(zip(self.names, inputs, strict=True)))
        return logits


def _trained(run: Mapping[str, Any]) -> dict[str, Any]:
    recipe, progress = run["recipe"], run["progress"]
    return {
        "algorithm": run["algorithm"],
        "seed": recipe["seed"],
        "steps": progress["steps"],
        "seconds": round(progress["seconds"], 1),
        "commit": run["commit"],
        "programs": run["programs"],
        "validation": progress["best_ratio"],
        "recipe": recipe,
    }


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """A temporary folder beside ``folder`` that takes its place if the block succeeds, and goes if it does not."""
    folder = folder.resolve()
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise PolicyError(f"{folder}: holds other things than a policy, expected an empty folder or one to replace")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as beside:
        partial, old = Path(beside) / "new", Path(beside) / "old"
        partial.mkdir()
        yield partial
        if folder.exists():
            os.rename(folder, old)
        try:
            os.rename(partial, folder)
        except OSError:
            if old.exists():
                os.rename(old, folder)
            raise


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter reports its progress on standard output and warns of its own internals."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
