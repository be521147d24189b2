# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments, a file for each task, and the parts that they are composed of."""

from typing import TYPE_CHECKING, Any

import gymnasium

import mlcb_gym
from mlcb_gym.errors import TaskError

if TYPE_CHECKING:
    from mlcb_gym.envs.compiler_env import CompilerEnv


def environments() -> dict[str, str]:
    """Return the id of the environment of every task, importing none of them: those of ``mlcb_gym.register``, and classes with a ``task`` that
    Gymnasium has as entry points."""
    classes = {env_id: getattr(spec.entry_point, "task", None) for env_id, spec in gymnasium.registry.items() if isinstance(spec.entry_point, type)}
    return mlcb_gym.TASKS | {task: env_id for env_id, task in classes.items() if task is not None}


def env_class(task: str) -> "type[CompilerEnv]":
    """Return the environment of a task.

    Raises:
        TaskError: there is none.
    """
    known = environments()
    if task not in known:
        raise TaskError(f"{task}: no environment, expected one of {', '.join(sorted(known))}")
    return class_of(known[task])


def class_of(env_id: str) -> "type[CompilerEnv]":
    """Return the class of an environment.

    Args:
        env_id: its id, as Gymnasium knows it.
    """
    entry_point = gymnasium.spec(env_id).entry_point
    made: Any = gymnasium.envs.registration.load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    return made
