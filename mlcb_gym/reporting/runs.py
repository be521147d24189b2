# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training runs as a page shows them, and those that differ in their seed alone together."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import HISTOGRAMS, SCALARS, EventAccumulator

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.checkpoints import Checkpoints, last_run, reading
from mlcb_gym.training.curves import ACTIONS, SECONDS, TENSORBOARD
from mlcb_gym.training.hyperparameters import hyperparameters
from mlcb_gym.training.provenance import DIGESTS
from mlcb_gym.training.registry import recipe_class
from mlcb_gym.training.run import Run


@dataclass(frozen=True)
class Shown:
    """A run with its curves.

    Args:
        folder: what `mlcb train` wrote.
        seconds: the wall time of its updates by part; empty where other processes sampled.
        actions: the environment steps of each update, and the share of every action then, ``[updates, actions]``; empty for values.
    """

    folder: Path
    run: Run
    seconds: Mapping[str, float]
    actions: tuple[Sequence[int], np.ndarray]

    @property
    def validations(self) -> dict[int, tuple[float, float]]:
        """The environment steps and the ratio of each validation, by the number of updates before it."""
        return {int(point["iteration"]): (point["steps"], point["ratio"]) for point in self.run.progress.curve}

    @property
    def last(self) -> float:
        """The ratio of the last validation."""
        return self.run.progress.curve[-1]["ratio"]


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed alone."""

    runs: Sequence[Shown]

    @property
    def title(self) -> str:
        """The task and the algorithm."""
        run = self._first
        return f"{run.spec['task']}, {run.recipe.algorithm}"

    @property
    def seeds(self) -> str:
        """The number of the seeds, or the only one."""
        seeds = {shown.run.recipe.seed for shown in self.runs}
        return f"{len(seeds)} seeds" if len(seeds) > 1 else f"seed {self._first.recipe.seed}"

    @cached_property
    def curve(self) -> tuple[list[float], list[list[float]]]:
        """The environment steps of the validations that all runs have come to, and the ratios of each run there."""
        validations = [shown.validations for shown in self.runs]
        common = sorted(set.intersection(*map(set, validations)))
        steps = [float(np.mean([points[number][0] for points in validations])) for number in common]
        return steps, [[points[number][1] for number in common] for points in validations]

    @property
    def seconds(self) -> dict[str, float]:
        """The wall time of all runs by part."""
        parts = {part for shown in self.runs for part in shown.seconds}
        return {part: sum(shown.seconds.get(part, 0.0) for shown in self.runs) for part in sorted(parts)}

    @property
    def settings(self) -> dict[str, str]:
        """The arguments and hyperparameters that are not the default, and what the runs were made with."""
        run = self._first
        usual = {each.key: each.default for each in hyperparameters(recipe_class(run.recipe.algorithm)())}
        chosen = {each.key: each.default for each in hyperparameters(run.recipe) if each.default != usual[each.key] and each.key != "seed"}
        arguments = {name: value if isinstance(value, str) else json.dumps(value) for name, value in run.environment.arguments.items()}
        made = {"environment": run.environment.id, **arguments, **chosen, "training programs": str(run.programs)}
        made_with = {f"digest of {name}" if name in DIGESTS else name: value for name, value in run.provenance.items()}
        return made | {"validation programs": ", ".join(run.validation), "commit": run.commit} | made_with

    @property
    def _first(self) -> Run:
        return self.runs[0].run


def holds_run(folder: Path) -> bool:
    """Return whether a folder holds a run with a checkpoint, beside what else it may hold."""
    return Checkpoints(folder).path("last") is not None


def read_shown(folder: Path) -> Shown:
    """Return the run in a folder.

    Raises:
        TrainingError: there is none, or it is damaged.
    """
    run = last_run(folder)
    with reading(folder / "last", TrainingError):
        if not all(float(point[name]) >= 0 for point in run.progress.curve for name in ("iteration", "steps", "ratio")):
            raise ValueError("the curve has a number that is not at least 0")
    if not (folder / TENSORBOARD).is_dir():
        return Shown(folder, run, {}, ([], np.empty((0, 0))))
    events = EventAccumulator(str(folder / TENSORBOARD), size_guidance={SCALARS: 0, HISTOGRAMS: 0})
    events.Reload()
    tags = events.Tags()
    seconds = {tag.removeprefix(SECONDS): sum(event.value for event in events.Scalars(tag)) for tag in tags[SCALARS] if tag.startswith(SECONDS)}
    chooses = all("choices" in agent["advice"] for agent in run.spec["agents"])
    updates = events.Histograms(ACTIONS) if chooses and ACTIONS in tags[HISTOGRAMS] else []
    shares = [_shares(event.histogram_value) for event in updates]
    width = max((len(share) for share in shares), default=0)
    actions = np.array([np.pad(share, (0, width - len(share))) for share in shares])
    return Shown(folder, run, seconds, ([event.step for event in updates], actions))


def groups(shown: Iterable[Shown]) -> list[Group]:
    """Return runs in groups, in the order of the first of each."""
    found: dict[str, list[Shown]] = {}
    for each in shown:
        run = each.run
        alike = [asdict(run.environment), run.recipe.algorithm, asdict(replace(run.recipe, seed=0)), run.validation, run.begun_with.get("weights")]
        key = json.dumps([*alike, run.commit, dict(run.provenance)], sort_keys=True)
        found.setdefault(key, []).append(each)
    return [Group(runs) for runs in found.values()]


def _shares(histogram: Any) -> np.ndarray:
    """Return the share of each action, from a histogram whose bins are one action wide."""
    counts = np.zeros(int(np.ceil(histogram.bucket_limit[-1])))
    for limit, count in zip(histogram.bucket_limit, histogram.bucket, strict=True):
        counts[max(0, int(np.ceil(limit)) - 1)] += count
    return counts / (counts.sum() or 1.0)
