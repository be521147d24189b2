# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The episodes of an evaluation, kept as they end: one that was interrupted goes on where it stopped."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from mlcb_gym import json_lines
from mlcb_gym.rollout.trace import Trace


@dataclass
class Journal:
    """A file with a line for each episode, without its actions. The methods of an evaluation are the same in the same order each time: each is a
    stage."""

    path: Path
    _inputs: str = field(default="", init=False)
    _known: dict[int, dict[int, Trace]] = field(default_factory=dict, init=False)
    _lines: TextIO | None = field(default=None, init=False)

    def begin(self, inputs: str) -> None:
        """Take up what an interrupted evaluation of the same inputs left, if there is one; what others left is replaced by the first episode."""
        self._inputs = inputs
        rows = json_lines.read(self.path)
        if rows[:1] == [{"inputs": inputs}]:
            for row in rows[1:]:
                self._known.setdefault(row["stage"], {})[row["program"]] = _trace(row["trace"])
            self._lines = json_lines.extend(self.path)

    def known(self, stage: int) -> dict[int, Trace]:
        """Return what is known of a method, by the number of the program."""
        return self._known.get(stage, {})

    def keep(self, stage: int, program: int, trace: Trace) -> None:
        """Write an episode of a method."""
        if self._lines is None:
            self._lines = self.path.open("w", buffering=1)
            json_lines.write(self._lines, {"inputs": self._inputs})
        json_lines.write(self._lines, {"stage": stage, "program": program, "trace": asdict(replace(trace, actions=()))})

    def close(self) -> None:
        """Close the file, which stays for the next time."""
        if self._lines:
            self._lines.close()

    def remove(self) -> None:
        """Remove the file: the evaluation is whole."""
        self.close()
        self.path.unlink(missing_ok=True)


def _trace(saved: dict[str, Any]) -> Trace:
    return Trace(**saved | {"actions": (), "ratios": tuple(saved["ratios"])})
