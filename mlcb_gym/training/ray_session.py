# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ray, as far as a training on one machine needs it."""

import atexit
import os
import shutil
import tempfile

import gymnasium
import ray

from mlcb_gym.training.imitation.optimize import limit_threads
from mlcb_gym.training.training_env import register_for_rllib


def start_ray() -> None:
    """Start Ray with one process less: the runner and the learner live in this one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # RLlib registers every environment under this one id, and warns of doing so.
    gymnasium.registry.pop("rllib-single-agent-env-v0", None)
    limit_threads()
    if not ray.is_initialized():
        folder = tempfile.mkdtemp(prefix="mlcb-ray-")  # Ray leaves its session's folder behind
        atexit.register(_end_ray, folder)
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=128 << 20, _temp_dir=folder)
    register_for_rllib()


def _end_ray(folder: str) -> None:
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
