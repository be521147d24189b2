# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of a run, whole at every moment: a new one is complete before a name points at it or an old one goes."""

import fcntl
import itertools
import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core import DEFAULT_MODULE_ID
from safetensors import SafetensorError
from safetensors.torch import load, save

from mlcb_gym import damaged
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import PolicyNetwork, policy_network
from mlcb_gym.atomic import remove, replacing
from mlcb_gym.errors import MlcbError, TrainingError
from mlcb_gym.regular_file import read_regular
from mlcb_gym.spec import TaskSpec
from mlcb_gym.training.run import Run

Name = Literal["last", "best"]

ALGORITHM, RUN, NETWORK, LOCK = "algorithm", "run.json", "network.safetensors", ".lock"
MODEL_CONFIG = "model_config"
"""The member of ``run.json`` with the sizes of the network, as its RLModule got them."""
MODULE = Path("learner_group") / "learner" / "rl_module" / "default_policy"
"""The RLModule in RLlib's checkpoint of an algorithm."""

#: What parsers and unpicklers raise where bytes are missing or wrong.
_DAMAGE = (*damaged.DAMAGE, EOFError, OSError, RuntimeError, ImportError, AssertionError, pickle.UnpicklingError, SafetensorError)


class Checkpoints:
    """The links ``last`` and ``best`` of a run's folder, into ``checkpoints/``; a checkpoint that neither names is removed.

    Each holds ``run.json``: the recipe, the environment and the progress of the run; ``network.safetensors``: the weights of the policy; and RLlib's
    state, of pickles (``algorithm/``), which a resumed run alone reads.
    """

    def __init__(self, output: Path) -> None:
        self.output = output.absolute()
        self.folder = self.output / "checkpoints"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other trainings out of the folder, which is made where there is none, and goes again where nothing was written to it.

        Raises:
            TrainingError: another training holds it, or it cannot be written to.
        """
        made = [folder for folder in (self.output, *self.output.parents) if not folder.exists()]
        try:
            self.output.mkdir(parents=True, exist_ok=True)
            opened = (self.output / LOCK).open("w")
        except OSError as error:
            raise TrainingError(f"{self.output}: {error.strerror}, expected a folder that can be written to") from error
        with opened as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise TrainingError(f"{self.output}: another training writes to it, expected another folder") from None
            try:
                yield
            finally:
                with suppress(OSError):  # not empty
                    if made and [entry.name for entry in self.output.iterdir()] == [LOCK]:
                        (self.output / LOCK).unlink()
                        for folder in made:
                            folder.rmdir()

    def save(self, write: Callable[[Path], None], iteration: int, *, best: bool) -> Path:
        """Let ``write`` fill a folder, and link ``last`` to it, and ``best`` where it is the best.

        Raises:
            TrainingError: the disk is full, or cannot be written to; each link is as it was, or points at the new folder, whole.
        """
        final = self._free(f"{iteration:06d}")
        try:
            with replacing(final) as unfinished:
                write(unfinished)
            for name in ("last", "best") if best else ("last",):
                link(self.output / name, final)
        except OSError as error:
            kept = f"{last} is as it was" if (last := self.path("last")) else "there is no checkpoint yet"
            raise TrainingError(f"{final}: {error.strerror or error}; {kept}") from error
        self._prune()
        return final

    def path(self, name: Name) -> Path | None:
        """Return the checkpoint of that name; None where there is none."""
        named = self.output / name
        return named.resolve() if named.exists() else None

    def _free(self, number: str) -> Path:
        """Return a folder that does not exist yet: a resumed run may come to the same iteration again, and ``last`` points at the first."""
        again = (f"{number}-{count}" for count in itertools.count(2))
        return next(folder for name in itertools.chain([number], again) if not (folder := self.folder / name).exists())

    def _prune(self) -> None:
        kept = {self.path("last"), self.path("best")}
        for folder in self.folder.iterdir():
            if folder.resolve() not in kept:
                with suppress(OSError):  # or after the next checkpoint
                    remove(folder)


def link(place: Path, target: Path) -> None:
    """Let a link point at a folder, by a relative path; it is whole at every moment."""
    with replacing(place) as unfinished:
        unfinished.symlink_to(os.path.relpath(target, place.parent))


def write_checkpoint(folder: Path, algorithm: Algorithm, run: Mapping[str, Any]) -> None:
    """Write a checkpoint into a folder."""
    algorithm.save_to_path(str(folder / ALGORITHM))
    module = algorithm.learner_group._learner.module[DEFAULT_MODULE_ID].unwrapped()
    (folder / NETWORK).write_bytes(save({name: value.cpu().contiguous() for name, value in module.network.state_dict().items()}))
    (folder / RUN).write_text(json.dumps({**run, MODEL_CONFIG: module.model_config}, indent=1))


def read_network(checkpoint: Path) -> PolicyNetwork:
    """Return the network of a checkpoint, in evaluation mode."""
    run = read_run(checkpoint)
    spec, config = TaskSpec(json.dumps(run["spec"])), run[MODEL_CONFIG]
    network = policy_network(spec.observation_space, spec.action_space, NetworkConfig.of(config), Architecture.from_config(config))
    network.load_state_dict(load(read_regular(checkpoint / NETWORK)))
    return network.eval()


def reading(checkpoint: Path, error: type[MlcbError]) -> AbstractContextManager[None]:
    """Raise whatever a truncated or damaged checkpoint leads to as an ``error`` of one line."""
    return damaged.reading(checkpoint, error, "checkpoint", by="train", damage=_DAMAGE)


def last_run(folder: Path) -> Run:
    """Return the run in a folder, as its last checkpoint has it.

    Raises:
        TrainingError: there is none, or it is damaged.
    """
    checkpoint = Checkpoints(folder).path("last")
    if checkpoint is None:
        raise TrainingError(f"{folder}: no run, expected a folder that `mlcb train` wrote")
    return run_of(checkpoint)


def run_of(checkpoint: Path) -> Run:
    """Return the run of a checkpoint.

    Raises:
        TrainingError: it is damaged.
    """
    with reading(checkpoint, TrainingError):
        return Run.from_json(read_run(checkpoint))


def read_run(checkpoint: Path) -> dict[str, Any]:
    """Return ``run.json`` of a checkpoint."""
    run: dict[str, Any] = json.loads(read_regular(checkpoint / RUN))
    return run
