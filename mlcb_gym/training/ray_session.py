# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ray for a training: started on this machine, or that of a cluster."""

import atexit
import logging
import os
import shutil
import socket
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import gymnasium
import ray

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.imitation.optimize import limit_threads
from mlcb_gym.training.training_env import register_for_rllib

PREFIX = "mlcb-ray-"
"""The beginning of the name of a session's folder; the process that owns it follows."""
SEEDING = "torch._inductor"
"""What RLlib imports when it seeds PyTorch, for seconds: that is done while Ray starts."""
CONNECT_SECONDS = 10.0
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}
"""What ends a training is an exception; what Ray says beside it is in its own logs."""


def start_ray(processes: int = 1, *, cpus: int | None = None) -> None:
    """Start Ray, unless it runs.

    Args:
        processes: the processes that must run at once.
        cpus: those that may; by default as many.

    Raises:
        TrainingError: it runs, with fewer.
    """
    _prepare()
    if ray.is_initialized() and (has := ray.cluster_resources().get("CPU", 0)) < processes:
        raise TrainingError(f"Ray runs with {has:g} CPUs, expected {processes} or more: a larger cluster, or `ray.shutdown()` before")
    if not ray.is_initialized():
        remove_left_folders()
        folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")  # Ray leaves its session's folder behind
        atexit.register(_end_ray, folder)
        Thread(target=_import_early).start()
        ray.init(num_cpus=max(cpus or 1, processes), include_dashboard=False, object_store_memory=128 << 20, _temp_dir=folder, **QUIET)
    register_for_rllib()


def join_ray(address: str) -> None:
    """Join a Ray cluster, which then runs what ``start_ray`` would start.

    Args:
        address: HOST:PORT of its head, or ``auto`` for the one that this machine belongs to.

    Raises:
        TrainingError: no Ray answers there, or one that refuses this process.
    """
    _prepare()
    host, _, port = address.rpartition(":")
    refused = "no Ray answers there ({}), expected HOST:PORT, as `ray start --head` prints it, or auto"
    try:
        if address != "auto":
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()  # Ray itself tries for a minute, and then aborts
            refused = "what answers there refuses this process ({}), expected Ray of this version and token, or RAY_AUTH_MODE=disabled at both ends"
        ray.init(address=address, **QUIET)
    except (ValueError, OSError, RuntimeError) as error:
        raise TrainingError(f"address {address}: {refused.format(str(error).splitlines()[0])}") from error


def _prepare() -> None:
    """Set what holds for this process, whoever starts Ray."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # with Ray's 15, environments and trials wait for all that runs beside them
    # RLlib registers every environment under this one id, and warns of doing so.
    gymnasium.registry.pop("rllib-single-agent-env-v0", None)
    logging.getLogger("torch.autograd.profiler").setLevel(logging.ERROR)  # no word of a monitor of GPUs that it cannot import
    limit_threads()


def _import_early() -> None:
    with suppress(Exception):  # which RLlib's own import then meets, and raises
        import_module(SEEDING)


def remove_left_folders() -> None:
    """Remove the folders of sessions whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _end_ray(folder: str) -> None:
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
