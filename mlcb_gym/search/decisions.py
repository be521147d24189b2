# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions with known outcomes, and the folder of files that holds them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile
from zlib import error as ZlibError

import numpy as np

from mlcb_gym.atomic import replacing
from mlcb_gym.corpus.programs import Program
from mlcb_gym.damaged import reading
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import MlcbError, NoDecisions, SessionLost, TaskError, TrainingError
from mlcb_gym.rollout.play import ATTEMPTS
from mlcb_gym.search.declaration import Declaration

Actions = tuple[int, ...]

_DAMAGE = (OSError, EOFError, ValueError, LookupError, RuntimeError, BadZipFile, ZlibError)
"""What reading raises where bytes are missing or wrong."""


@dataclass
class Decision:
    """One decision with all its outcomes.

    Args:
        taken: the actions that led to it.
        observation: the observation of the decision.
        ratio: the ratio to the compiler's own heuristic before it.
        outcomes: ``[actions]``, the lowest ratio known to be reached through each; infinite where the action is masked or fails.
        weight: the weight in a loss over several decisions.
    """

    taken: Actions
    observation: Observation
    ratio: float
    outcomes: np.ndarray
    weight: float = 1.0

    @property
    def best(self) -> float:
        """The lowest ratio reached from here."""
        return float(min(self.ratio, self.outcomes.min()))


SearchProgram = Callable[[Program], list[Decision]]
"""From a program to its decisions with known outcomes."""


@dataclass(frozen=True)
class Search:
    """A search of programs, and the declaration of what it finds."""

    search_program: SearchProgram
    declaration: Declaration

    def __call__(self, program: Program) -> list[Decision]:
        """Return the decisions on one program, with their outcomes."""
        return self.search_program(program)


@dataclass(frozen=True)
class Found:
    """The result of searching one program: decisions, or the reason why there are none."""

    program: str
    decisions: list[Decision]
    error: str | None = None


def back_up(decisions: dict[Actions, Decision]) -> None:
    """Replace the outcome of each action by the best one that was reached through it."""
    for taken in sorted(decisions, key=len, reverse=True):
        if taken:
            decisions[taken[:-1]].outcomes[taken[-1]] = decisions[taken].best


def search_all(search: Search, programs: Sequence[Program], folder: Path) -> Iterator[Found]:
    """Search one program after another, each into a file of its own. A program that has a file is not searched again; one without decisions gets
    none. A failure is yielded too.

    Raises:
        TaskError: the environment is none that can be searched, whatever the program.
        TrainingError: the folder has decisions of another search.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if _files(folder):
        search.declaration.expect(folder)
    else:
        search.declaration.write(folder)
    for program in programs:
        file = folder / f"{program.digest}.npz"
        if file.exists():
            continue
        try:
            decisions = _searched(search, program)
        except NoDecisions:
            yield Found(program.name, [])
            continue
        except TaskError:
            raise
        except MlcbError as error:
            yield Found(program.name, [], str(error))
            continue
        if decisions:
            _write(file, decisions)
        yield Found(program.name, decisions)


def _searched(search: Search, program: Program) -> list[Decision]:
    """Search a program, and again where that was lost by a fault of the machine, ``ATTEMPTS`` times at most."""
    for _ in range(ATTEMPTS - 1):
        with suppress(SessionLost):
            return search(program)
    return search(program)


def read_decisions(folder: Path, declaration: Declaration | None = None) -> dict[str, list[Decision]]:
    """Return the decisions of every file, by the program's digest.

    Args:
        declaration: what their outcomes have to be of; by default of anything.

    Raises:
        TrainingError: there are none, they are of something else, or a file is damaged.
    """
    if not (files := _files(folder)):
        raise TrainingError(f"{folder}: no decisions, expected a folder that `mlcb search` wrote")
    if declaration is not None:
        declaration.expect_outcomes(folder)
    return {file.stem: _read(file) for file in files}


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.npz"))


def _write(file: Path, decisions: Sequence[Decision]) -> None:
    longest = max(len(d.taken) for d in decisions)
    with replacing(file) as unfinished, unfinished.open("wb") as stream:
        np.savez_compressed(
            stream,
            taken=np.array([d.taken + (-1,) * (longest - len(d.taken)) for d in decisions], dtype=np.int64),
            ratio=np.array([d.ratio for d in decisions]),
            outcomes=np.stack([d.outcomes for d in decisions]),
            weight=np.array([d.weight for d in decisions]),
            **_columns([_flat(d.observation) for d in decisions]),  # type: ignore[arg-type]  # of NumPy's stub: these are arrays, not its options
        )


def _flat(observation: Observation, prefix: str = "observation") -> dict[str, np.ndarray]:
    """Return every tensor by its path: the parts of several agents lie one deeper."""
    tensors: dict[str, np.ndarray] = {}
    for name, value in observation.items():
        tensors |= _flat(value, f"{prefix}/{name}") if isinstance(value, dict) else {f"{prefix}/{name}": np.asarray(value)}
    return tensors


def _nested(tensors: Mapping[str, np.ndarray]) -> Observation:
    """Return the observation that ``_flat`` was given."""
    observation: Observation = {}
    for path, value in tensors.items():
        part = observation
        _, *outer, name = path.split("/")
        for key in outer:
            part = part.setdefault(key, {})
        part[name] = value
    return observation


def _columns(rows: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the distinct values of each tensor, and the index of each row's value."""
    columns = {}
    for name in rows[0]:
        places: dict[bytes, int] = {}
        index = [places.setdefault(row[name].tobytes(), len(places)) for row in rows]
        first = {place: row[name] for place, row in reversed(list(zip(index, rows, strict=True)))}
        columns[name] = np.stack([first[place] for place in range(len(places))])
        columns[f"index/{name}"] = np.array(index)
    return columns


def _read(file: Path) -> list[Decision]:
    # Of a damaged file NumPy would leave a stream of its own open.
    with reading(file, TrainingError, "file of decisions", by="`mlcb search`", damage=_DAMAGE), file.open("rb") as stream, np.load(stream) as columns:
        return _decisions({name: columns[name] for name in columns.files})


def _decisions(rows: Mapping[str, np.ndarray]) -> list[Decision]:
    """Return the decisions of the columns of a file."""
    count = len(rows["ratio"])
    places = {name: rows[f"index/{name}"] for name in rows if name.startswith("observation/")}
    return [
        Decision(
            tuple(int(a) for a in rows["taken"][i] if a >= 0),
            _nested({name: rows[name][place[i]] for name, place in places.items()}),
            float(rows["ratio"][i]),
            rows["outcomes"][i],
            float(rows["weight"][i]),
        )
        for i in range(count)
    ]
