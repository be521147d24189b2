# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few fixed sequences that together suit many programs: the strongest baseline without learning."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from mlcb_gym import json_lines
from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.halves import HalvedEnv
from mlcb_gym.errors import SessionLost
from mlcb_gym.rollout.play import Script, persistent, play, replay
from mlcb_gym.rollout.trace import Trace

Actions = tuple[int, ...]


@dataclass(frozen=True)
class Matrix:
    """The ratio of every program, given by its digest, after every sequence, ``ratios[p, s]``; of a failed episode see ``Trace.scored``."""

    programs: tuple[str, ...]
    sequences: tuple[Actions, ...]
    ratios: np.ndarray

    def geomeans(self) -> np.ndarray:
        """Return the geometric mean of each sequence."""
        return np.asarray(np.exp(np.log(self.ratios).mean(axis=0)))

    def best_fixed(self) -> int:
        """Return the sequence with the lowest geometric mean."""
        return int(self.geomeans().argmin())

    def coreset(self, size: int) -> list[int]:
        """Return sequences chosen greedily, such that the best one for each program has the lowest geometric mean (submodular: within 1 - 1/e)."""
        logs = np.log(self.ratios)
        chosen: list[int] = []
        reached = np.full(len(self.programs), np.inf)
        for _ in range(min(size, len(self.sequences))):
            means = np.minimum(logs, reached[:, None]).mean(axis=0)
            means[chosen] = np.inf
            chosen.append(int(means.argmin()))
            reached = np.minimum(reached, logs[:, chosen[-1]])
        return chosen


def evaluate_sequences(envs: Sequence[HalvedEnv], programs: Sequence[Program], sequences: Sequence[Actions], store: Path) -> Matrix:
    """Run every sequence on every program. Results are appended to ``store`` as they come, and those in it, of the same environment, are not run
    again.

    Raises:
        SessionLost: the machine failed, time after time.
    """
    known = _read(store)
    missing = [(program, tuple(s)) for program in programs for s in sequences if (program.digest, tuple(s)) not in known]
    store.parent.mkdir(parents=True, exist_ok=True)
    with json_lines.extend(store) as lines:
        for digest, sequence, trace in play(envs, (_evaluation(program, sequence) for program, sequence in missing)):
            if trace.lost:
                raise SessionLost(f"{trace.program}: {trace.error}")
            ratio = trace.scored
            known[digest, sequence] = ratio
            json_lines.write(lines, {"program": trace.program, "digest": digest, "sequence": sequence, "ratio": ratio})
    digests = tuple(program.digest for program in programs)
    ratios = np.array([[known[digest, tuple(s)] for s in sequences] for digest in digests])
    return Matrix(digests, tuple(tuple(s) for s in sequences), ratios)


def _evaluation(program: Program, sequence: Actions) -> Script[tuple[str, Actions, Trace]]:
    trace = yield from persistent(partial(replay, program, sequence))
    return program.digest, sequence, trace


def _read(store: Path) -> dict[tuple[str, Actions], float]:
    return {(row["digest"], tuple(row["sequence"])): row["ratio"] for row in json_lines.read(store)}
