# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints without Ray running: of ``mlcb train``, which are data, and of any RLlib algorithm with this package's modules, where trusted."""

import pickle
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium import spaces
from ray.rllib.core.rl_module.rl_module import RLModule
from torch import nn

from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.errors import PolicyError
from mlcb_gym.session import Target
from mlcb_gym.training.checkpoints import ALGORITHM, MODULE, NETWORK, RUN, read_network, read_run, reading

CONSTRUCTOR = "class_and_ctor_args.pkl"


def load_network(checkpoint: Path, *, trust: bool = False) -> PolicyNetwork:
    """Return the trained network, in evaluation mode.

    Args:
        trust: whether pickles of RLlib's, which are code, may be read where the checkpoint has nothing else.

    Raises:
        PolicyError: ``checkpoint`` is none or damaged, or has pickles alone that are not trusted, or its module has no network that can be exported.
    """
    if (checkpoint / NETWORK).exists():
        with reading(checkpoint, PolicyError):
            return read_network(checkpoint)
    folder = _algorithm(checkpoint) / MODULE
    if not folder.is_dir():
        raise PolicyError(f"{checkpoint}: no checkpoint, expected RUN/best, RUN/last or one of RLlib (a folder with {MODULE})")
    _check_trust(checkpoint, trust)
    with reading(checkpoint, PolicyError):
        module = RLModule.from_checkpoint(str(folder))
    network: PolicyNetwork | None = getattr(module, "network", None)
    if not isinstance(network, nn.Module):
        raise PolicyError(f"{checkpoint}: a {type(module).__name__}, expected a module of mlcb_gym.agents, or export_module of one's own network")
    return network.eval()


@dataclass(frozen=True)
class Training:
    """The task that a policy was trained for, and the way of its training.

    Args:
        spec: the bound spec.
        facts: the algorithm and, of ``mlcb train``, its recipe and budget.
        target: the machine that code was generated for.
    """

    spec: Mapping[str, Any]
    facts: Mapping[str, Any]
    target: Target = field(default_factory=Target)


def read_training(checkpoint: Path, *, trust: bool = False) -> Training:
    """Return the training that a checkpoint is of; for RLlib's own the environment of its config is made once.

    Args:
        trust: as of ``load_network``.

    Raises:
        PolicyError: ``checkpoint`` is damaged or not trusted, the environment of its config is none of this package, or a value was trained in other
            units.
    """
    if not (checkpoint / RUN).exists():
        _check_trust(checkpoint, trust)
        return _of_rllib(checkpoint)
    with reading(checkpoint, PolicyError):
        return _of_run(checkpoint)


def _of_run(checkpoint: Path) -> Training:
    run = read_run(checkpoint)
    recipe, progress = run["recipe"], run["progress"]
    facts = {
        "algorithm": run["algorithm"],
        "seed": recipe["seed"],
        "steps": progress["steps"],
        "seconds": round(progress["seconds"], 1),
        "commit": run["commit"],
        "programs": run["programs"],
        "validation": progress["best_ratio"],
        "recipe": recipe,
    }
    return Training(run["spec"], facts)


def _of_rllib(checkpoint: Path) -> Training:
    with reading(checkpoint, PolicyError):
        constructed = pickle.loads((checkpoint / CONSTRUCTOR).read_bytes())
        (config, *_), _ = constructed["ctor_args_and_kwargs"]
        settings = config if isinstance(config, dict) else config.to_dict()
        name, arguments = settings["env"], settings.get("env_config") or {}
    try:
        env = gymnasium.make(name, **arguments)
        with closing(env):
            made: Any = env.unwrapped
            spec, target, asks_for_value = made.task_spec.declared, made.target, isinstance(env.action_space, spaces.Box)
    except (gymnasium.error.Error, AttributeError, TypeError) as error:
        raise PolicyError(f"{checkpoint}: trained on {name!r}, expected the id of an environment of this package ({error})") from error
    if asks_for_value and settings.get("normalize_actions", True):
        raise PolicyError(f"{checkpoint}: trained with normalize_actions=True, which changes what a value means: expected False")
    return Training(spec, {"algorithm": constructed["class"].__name__}, target)


def _check_trust(checkpoint: Path, trust: bool) -> None:
    if not trust:
        raise PolicyError(
            f"{checkpoint}: no {NETWORK}, so RLlib's own or of an older mlcb_gym: pickles, which are code: expected --trust, or another checkpoint"
        )


def _algorithm(checkpoint: Path) -> Path:
    """Return RLlib's own part of a checkpoint."""
    folder = checkpoint.absolute()
    return folder / ALGORITHM if (folder / ALGORITHM).is_dir() else folder
