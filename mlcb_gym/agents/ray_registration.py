# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The environments of this package for RLlib's own configs, by their ids, in remote runners too."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium
from ray.tune.registry import register_env

import mlcb_gym


def register_environments() -> None:
    """Register every task's environment with Ray, so that ``PPOConfig().environment("PosetRL-v0", env_config={...})`` finds it everywhere.

    The ``env_config`` are the arguments of the environment. With ``gym_env_vectorize_mode="vector_entry_point"`` the environments of a runner are its
    native vector environment, which shares one compiler; else each has its own. Importing ``mlcb_gym.agents`` calls this; a task registered later,
    or a Ray started anew after ``ray.shutdown()``, needs another call.
    """
    for env_id in mlcb_gym.VERSIONS:
        register_env(env_id, partial(_make, env_id))


def _make(env_id: str, context: Mapping[str, Any]) -> Any:
    """Make an environment, or where RLlib asks for a vector environment of its own kind, so many."""
    arguments = dict(context)
    num_envs = arguments.pop("num_envs", None)
    if num_envs is None:
        return gymnasium.make(f"mlcb_gym:{env_id}", **arguments)
    return gymnasium.make_vec(f"mlcb_gym:{env_id}", num_envs=num_envs, vectorization_mode="vector_entry_point", **arguments)
