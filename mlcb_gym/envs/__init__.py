# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments, a file for each task, and the parts that they are composed of."""

from typing import TYPE_CHECKING

import gymnasium

from mlcb_gym.errors import TaskError

if TYPE_CHECKING:
    from mlcb_gym.envs.compiler_env import CompilerEnv


def environments() -> dict[str, str]:
    """Return the id of the environment of every task, importing none of them; a task's environment is in the file of its name."""
    entries = {env_id: str(spec.entry_point).split(":")[0] for env_id, spec in gymnasium.registry.items()}
    return {module.rsplit(".", 1)[1]: env_id for env_id, module in entries.items() if module.startswith(f"{__name__}.")}


def env_class(task: str) -> "type[CompilerEnv]":
    """Return the environment of a task.

    Raises:
        TaskError: there is none.
    """
    known = environments()
    if task not in known:
        raise TaskError(f"{task}: no environment, expected one of {', '.join(sorted(known))}")
    entry_point = gymnasium.registry[known[task]].entry_point
    assert isinstance(entry_point, str)
    made: type[CompilerEnv] = gymnasium.envs.registration.load_env_creator(entry_point)  # type: ignore[assignment]
    return made
