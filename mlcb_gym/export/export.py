# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export of policy folders: one ONNX file per agent, and ``policy.json``, the manifest that a compiler reads."""

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import gymnasium
from torch import nn

from mlcb_gym.agents.team import Team
from mlcb_gym.atomic import replacing
from mlcb_gym.errors import PolicyError
from mlcb_gym.export.checkpoint import load_network, read_training
from mlcb_gym.export.prepacking import gains_from_prepacking
from mlcb_gym.onnx.manifest import MANIFEST, NAME, replaceable
from mlcb_gym.onnx.write import write_onnx
from mlcb_gym.session import Target

FORMAT = 1


def export_policy(checkpoint: Path, folder: Path, *, results: Mapping[str, Any] | None = None, trust: bool = False) -> Path:
    """Write the policy of a checkpoint to ``folder``, whole or not at all; an older policy there is replaced.

    Args:
        trust: as of ``load_network``.

    Raises:
        PolicyError: see ``load_network`` and ``read_training``.
    """
    network, training = load_network(checkpoint, trust=trust), read_training(checkpoint, trust=trust)
    networks = dict(network) if isinstance(network, Team) else network
    return write_policy(networks, folder, spec=training.spec, target=training.target, trained=training.facts, results=results or {})


def export_module(module: nn.Module | Mapping[str, nn.Module], env: gymnasium.Env[Any, Any], folder: Path | str) -> Path:
    """Write a policy of one's own to ``folder``, whole or not at all; an older policy there is replaced.

    Args:
        module: takes a mapping of the tensors that ``env`` observes but for the mask, each of its own dtype with a leading batch axis; returns
            logits ``[batch, choices]``, which are masked outside, or values ``[batch, 1]``, in the compiler's units. It is exported in evaluation
            mode. Of several agents the module of each by its name, which takes the tensors of its agent.
        env: an environment with the arguments of the training, wrapped or not.

    Raises:
        PolicyError: ``module`` or ``env`` is something else; ``folder`` holds other things than a policy.
    """
    made: Any = getattr(env, "unwrapped", None)
    spec = getattr(made, "task_spec", None)
    if spec is None:
        raise PolicyError(f"env is {_described(env)}, expected an environment of this package, as gymnasium.make returns it")
    modules = [module] if isinstance(module, nn.Module) else list(module.values()) if isinstance(module, Mapping) else []
    if not modules or not all(isinstance(each, nn.Module) for each in modules):
        raise PolicyError(f"module is {_described(module)}, expected a torch.nn.Module from tensors to logits, or one for each agent by its name")
    try:
        copies = deepcopy(dict(module) if isinstance(module, Team | Mapping) else module)  # on the CPU, where the export is traced
    except RuntimeError as error:
        raise PolicyError(f"module is {_described(module)}, which torch cannot copy, expected a module of its layers alone: {error}") from error
    for each in [copies] if isinstance(copies, nn.Module) else copies.values():
        each.cpu().eval()
    return write_policy(copies, Path(folder), spec=spec.declared, target=made.target, trained={}, results={})


def write_policy(
    networks: nn.Module | Mapping[str, nn.Module],
    folder: Path,
    *,
    spec: Mapping[str, Any],
    trained: Mapping[str, Any],
    results: Mapping[str, Any],
    target: Target | None = None,
) -> Path:
    """Write a policy folder for a bound spec.

    Args:
        networks: the network of each agent by its name, or of the only one: from a mapping of tensors to ``[batch, choices]``, or ``[batch, 1]``.
        spec: the bound spec, as in ``env.task_spec.declared``.
        trained: the algorithm, recipe and budget of the training.
        results: the measured results, with machine and commit.
        target: the machine that it was taught for, where that is known.
    """
    agents = spec["agents"]
    by_agent = {agents[0]["name"]: networks} if isinstance(networks, nn.Module) else networks
    if unnamed := [a["name"] for a in agents if not NAME.fullmatch(a["name"])]:
        raise PolicyError(f"{folder}: agent {unnamed[0]!r:.80}, expected letters, digits, '_', '-' and '.': its model is called after it")
    if sorted(by_agent) != sorted(a["name"] for a in agents):
        raise PolicyError(f"{folder}: networks of {', '.join(by_agent)}, expected one for each of {', '.join(a['name'] for a in agents)}")
    manifest = {
        "format": FORMAT,
        "task": spec["task"],
        "parameters": spec["parameters"],
        "digest": spec["digest"],
        "target": target.architecture if target else "",
        "agents": {a["name"]: f"{a['name']}.onnx" for a in agents},
        "spec": spec,
        "trained": trained,
        "results": results,
    }
    with replacing(replaceable(folder)) as partial:
        partial.mkdir()
        for agent in agents:
            model = partial / manifest["agents"][agent["name"]]
            write_onnx(by_agent[agent["name"]], model, agent=agent, metadata={"task": spec["task"], "digest": spec["digest"]})
        manifest["prepacking"] = {a["name"]: gains_from_prepacking(partial / manifest["agents"][a["name"]], a) for a in agents}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    return folder


def _described(value: Any) -> str:
    """Return a value of the wrong type as an error names it."""
    return repr(value) if isinstance(value, str) else f"of type {type(value).__name__}"
