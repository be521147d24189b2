# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixed sequences of pipelines that ship: the best single one, and a coreset of those that suit many programs."""

import json
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from mlcb_gym import atomic


@dataclass(frozen=True)
class FixedSequences:
    """Fixed sequences as action texts: the best single one, and a coreset in greedy order."""

    best_fixed: str
    coreset: tuple[str, ...]

    @classmethod
    def shipped(cls, task: str) -> "FixedSequences":
        """Return those that ship for a task, found on its training programs."""
        saved = json.loads(files("mlcb_gym").joinpath(f"data/baselines/{task}.json").read_text())
        return cls(saved["best_fixed"], tuple(saved["coreset"]))

    def write(self, path: Path) -> None:
        """Writes what ``shipped`` reads, as JSON."""
        atomic.write(path, json.dumps(asdict(self), indent=1) + "\n")
