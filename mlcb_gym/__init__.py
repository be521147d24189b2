# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine learning for compilers: the optimizations of an unmodified LLVM 22 as Gymnasium environments."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium

__version__ = "0.1.0"

# ONNX Runtime's builds for Linux keep files for telemetry in /tmp, where other users may have put something; who wants them sets the variable to 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

TASKS: dict[str, str] = {}
"""The id of the environment of every task that is registered; of several versions the last one, which the tools use."""

VERSIONS: dict[str, str] = {}
"""The task of every id that is registered."""


def register(env_id: str, environment: str, **defaults: Any) -> None:
    """Register the environment of a task with Gymnasium. Its module is named as the task. Of several versions the newest is registered last.

    Args:
        env_id: as ``PosetRL-v0``.
        environment: its module and its name, as ``mlcb_gym.envs.posetrl:PosetRL``; the module has ``PosetRLEnv`` and ``PosetRLVectorEnv``.
        defaults: the arguments by which an earlier version differs from the newest.
    """
    task = environment.split(":")[0].rpartition(".")[2]
    TASKS[task], VERSIONS[env_id] = env_id, task
    gymnasium.register(
        id=env_id,
        entry_point=f"{environment}Env",
        vector_entry_point=f"{environment}VectorEnv",
        # Environments check their calls themselves: gymnasium.make returns them without wrappers, so that fork() and the like are in reach.
        order_enforce=False,
        disable_env_checker=True,
        kwargs=defaults,
    )


for _package in filter(None, os.environ.get("MLCB_TASKS", "").split(",")):
    try:
        import_module(_package)  # registers tasks of its own
    except ModuleNotFoundError as _error:
        if not f"{_package}.".startswith(f"{_error.name}."):
            raise
        _said = f"MLCB_TASKS={_package}: no such package on Python's path, expected one, or python -m mlcb_gym in its folder"
        if Path(sys.argv[0]).name not in ("mlcb", "-m"):
            raise ImportError(_said) from None
        print(f"mlcb: {_said}", file=sys.stderr)  # a command may need no task, as --help and doctor

# A line for each version of each task of this package; `mlcb new-task` appends to them.
register("PosetRL-v0", "mlcb_gym.envs.posetrl:PosetRL")
register("Inliner-v0", "mlcb_gym.envs.inliner:Inliner")
register("RegAllocEviction-v0", "mlcb_gym.envs.eviction:Eviction", cost="allocated")
register("RegAllocEviction-v1", "mlcb_gym.envs.eviction:Eviction")
register("RegAllocPriority-v0", "mlcb_gym.envs.priority:Priority", cost="allocated")
register("RegAllocPriority-v1", "mlcb_gym.envs.priority:Priority")
register("LoopDistribution-v0", "mlcb_gym.envs.loop_distribution:LoopDistribution")
register("FunctionSize-v0", "mlcb_gym.envs.function_size:FunctionSize")
register("FunctionPosetRL-v0", "mlcb_gym.envs.function_posetrl:FunctionPosetRL")
register("RL4ReAl-v0", "mlcb_gym.envs.rl4real:RL4ReAl")
