# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of a run, whole at every moment: a new one is complete before a name points at it or an old one goes."""

import fcntl
import itertools
import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from ray.rllib.algorithms.algorithm import Algorithm

from mlcb_gym.errors import MlcbError, TrainingError

Name = Literal["last", "best"]

ALGORITHM, RUN, LOCK = "algorithm", "run.json", ".lock"
MODULE = Path("learner_group") / "learner" / "rl_module" / "default_policy"
"""The RLModule in RLlib's checkpoint of an algorithm."""

#: What parsers and unpicklers raise where bytes are missing or wrong.
_DAMAGE = (EOFError, pickle.UnpicklingError, OSError, ValueError, LookupError, AttributeError, TypeError, RuntimeError, ImportError)


class Checkpoints:
    """The links ``last`` and ``best`` of a run's folder, into ``checkpoints/``; a checkpoint that neither names is removed.

    Each holds RLlib's state (``algorithm/``) and ``run.json``: the recipe, the environment and the progress of the run.
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
            TrainingError: the disk is full, or cannot be written to; the links are as they were.
        """
        final = self._free(f"{iteration:06d}")
        partial = self.folder / f"{final.name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write(partial)
            partial.rename(final)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            kept = f"{last} is as it was" if (last := self.path("last")) else "there is no checkpoint yet"
            raise TrainingError(f"{final}: {error.strerror}; {kept}") from error
        for name in ("last", "best") if best else ("last",):
            link(self.output / name, final)
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
                shutil.rmtree(folder)


def link(place: Path, target: Path) -> None:
    """Let a link point at a folder, by a relative path; it is whole at every moment."""
    fresh = place.with_name(f"{place.name}.partial")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(os.path.relpath(target, place.parent))
    os.replace(fresh, place)


def write_checkpoint(folder: Path, algorithm: Algorithm, run: Mapping[str, Any]) -> None:
    """Write a checkpoint into a folder."""
    algorithm.save_to_path(str(folder / ALGORITHM))
    (folder / RUN).write_text(json.dumps(run, indent=1))


@contextmanager
def reading(checkpoint: Path, error: type[MlcbError]) -> Iterator[None]:
    """Raise whatever a truncated or damaged checkpoint leads to as an ``error`` of one line."""
    try:
        yield
    except _DAMAGE as why:
        said = str(why).partition("\n")[0]
        raise error(f"{checkpoint}: a damaged checkpoint, expected one as train wrote it: {type(why).__name__}: {said}") from why


def read_run(checkpoint: Path) -> dict[str, Any]:
    """Return ``run.json`` of a checkpoint."""
    run: dict[str, Any] = json.loads((checkpoint / RUN).read_text())
    return run
