# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ray, as far as a training on one machine needs it."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import gymnasium
import ray

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.imitation.optimize import limit_threads
from mlcb_gym.training.training_env import register_for_rllib

PREFIX = "mlcb-ray-"
"""The beginning of the name of a session's folder; the process that owns it follows."""


def start_ray(cpus: int = 1) -> None:
    """Start Ray, unless it runs.

    Args:
        cpus: the processes that may run at once.

    Raises:
        TrainingError: it runs, with fewer.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # RLlib registers every environment under this one id, and warns of doing so.
    gymnasium.registry.pop("rllib-single-agent-env-v0", None)
    limit_threads()
    if ray.is_initialized() and (has := ray.cluster_resources().get("CPU", 0)) < cpus:
        raise TrainingError(f"Ray runs with {has:g} CPUs, expected {cpus} or more: `ray.shutdown()` lets it be started anew")
    if not ray.is_initialized():
        remove_left_folders()
        folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")  # Ray leaves its session's folder behind
        atexit.register(_end_ray, folder)
        ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=128 << 20, _temp_dir=folder)
    register_for_rllib()


def remove_left_folders() -> None:
    """Remove the folders of sessions whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _end_ray(folder: str) -> None:
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
