# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training run: its recipe, environment and progress, which a checkpoint holds beside the weights."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mlcb_gym.training.hyperparameters import changed
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.registry import recipe_class
from mlcb_gym.training.training_env import Environment


@dataclass
class Progress:
    """The progress of a run, which was ``resumed`` so often. Ratios are geometric means over programs, to the compiler's own heuristic."""

    iteration: int = 0
    steps: int = 0
    episodes: int = 0
    seconds: float = 0.0
    best_ratio: float = float("inf")
    curve: list[dict[str, float]] = field(default_factory=list)
    resumed: int = 0


@dataclass
class Run:
    """A recipe on an environment, and its progress."""

    recipe: Recipe
    environment: Environment
    spec: Mapping[str, Any]
    programs: int
    commit: str
    validation: Sequence[str] = ()
    """The programs that the best checkpoint is chosen by, by their names."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """The versions and digests of what it was made with, see ``provenance``."""
    begun_with: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of ``train`` that the recipe does not have: where the first weights are from, and the interval of validations."""
    progress: Progress = field(default_factory=Progress)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"algorithm": self.recipe.algorithm}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> "Run":
        return cls(
            recipe=recipe(saved["algorithm"], saved["recipe"]),
            environment=Environment(**saved["environment"]),
            spec=saved["spec"],
            programs=saved["programs"],
            commit=saved["commit"],
            validation=saved["validation"],
            provenance=saved["provenance"],
            begun_with=saved["begun_with"],
            progress=Progress(**saved["progress"]),
        )


def recipe(algorithm: str, changes: Mapping[str, Any] | None = None) -> Recipe:
    """Return the default recipe of an algorithm with some hyperparameters changed; nested ones as mappings, as in JSON.

    Raises:
        TrainingError: there is no such algorithm; it has no such hyperparameter, or one of another type.
    """
    made: Recipe = changed(recipe_class(algorithm)(), changes or {})
    return made


def current_commit() -> str:
    """Return the commit of the sources, or "unknown" outside a checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
