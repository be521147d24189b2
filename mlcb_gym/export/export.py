# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export of policy folders: one ONNX file per agent, and ``policy.json``, the manifest that a compiler reads."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from mlcb_gym.agents.team import Team
from mlcb_gym.errors import PolicyError
from mlcb_gym.export.checkpoint import load_network
from mlcb_gym.export.prepacking import gains_from_prepacking
from mlcb_gym.onnx.manifest import MANIFEST
from mlcb_gym.onnx.write import write_onnx
from mlcb_gym.training.checkpoints import read_run

FORMAT = 1


def export_policy(checkpoint: Path, folder: Path, *, results: Mapping[str, Any] | None = None) -> Path:
    """Write the policy of a checkpoint to ``folder``, whole or not at all; an older policy there is replaced.

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
    """Write a policy folder for a bound spec.

    Args:
        networks: the network of each agent by its name, or of the only one: from a mapping of tensors to ``[batch, choices]``, or ``[batch, 1]``.
        spec: the bound spec, as in ``env.task_spec.declared``.
        trained: the algorithm, recipe and budget of the training.
        results: the measured results, with machine and commit.
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
    """Yield a temporary folder beside ``folder`` that takes its place if the block succeeds, and is removed if it does not."""
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
