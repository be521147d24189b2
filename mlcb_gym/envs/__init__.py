# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One file per task, and what they share."""

from typing import TYPE_CHECKING, Any

import gymnasium

from mlcb_gym.errors import TaskError

if TYPE_CHECKING:
    from mlcb_gym.envs.compiler_env import CompilerEnv


def environments() -> dict[str, str]:
    """Return the id of the environment of every task, importing none of them.

    In this package a task's environment stands in the file of its name. Another package registers the class itself as entry point, which has the
    name as ``task``; Gymnasium finds it by the entry-point group ``gymnasium.envs``.
    """
    tasks = {env_id: _task(spec.entry_point) for env_id, spec in gymnasium.registry.items()}
    return {task: env_id for env_id, task in tasks.items() if task is not None}


def _task(entry_point: object) -> str | None:
    """Return the task of a registered environment; None where it is no compiler's."""
    if not isinstance(entry_point, str):
        return getattr(entry_point, "task", None)
    module = entry_point.split(":")[0]
    return module.rsplit(".", 1)[1] if module.startswith(f"{__name__}.") else None


def env_class(task: str) -> "type[CompilerEnv]":
    """The environment of a task.

    Raises:
        TaskError: it has none.
    """
    known = environments()
    if task not in known:
        raise TaskError(f"{task}: no environment, expected one of {', '.join(sorted(known))}")
    entry_point = gymnasium.registry[known[task]].entry_point
    made: Any = gymnasium.envs.registration.load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    return made
