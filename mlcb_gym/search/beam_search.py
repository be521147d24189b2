# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Look-ahead by forking the compiler: at a decision every action is tried, and the most promising outcomes are looked into further.

A rollout tells what one action led to; from here a policy learns what every action would have led to.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv, Observation
from mlcb_gym.errors import MlcbError, NoDecisions, TaskError
from mlcb_gym.rollout.play import PARALLEL

Actions = tuple[int, ...]


@dataclass
class Decision:
    """One decision with all its outcomes.

    Args:
        taken: the actions that led to it.
        observation: what a policy sees there.
        ratio: size to that of -Oz before it.
        outcomes: ``[actions]``, the smallest ratio known to be reached through each; infinite where it is masked or fails.
        weight: what it counts beside others, when something is learnt from them.
    """

    taken: Actions
    observation: Observation
    ratio: float
    outcomes: np.ndarray
    weight: float = 1.0

    @property
    def best(self) -> float:
        """The smallest ratio reached from here."""
        return float(min(self.ratio, self.outcomes.min()))


@dataclass(frozen=True)
class Found:
    """What looking into one program came to: decisions, or why there are none."""

    program: str
    decisions: list[Decision]
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Lookahead:
    """How far to look.

    Args:
        widths: how many of the best states at a depth are looked into, from the second decision on.
        strays: how many others, drawn at random, are looked into as well: what a policy that errs will see.
    """

    widths: tuple[int, ...] = (2, 1, 1)
    strays: int = 1
    seed: int = 1


def look(env: CompilerEnv, program: Program, lookahead: Lookahead) -> list[Decision]:
    """The decisions on one program, the first one first. Every program weighs the same, however many there are.

    Raises:
        TaskError: the environment does not measure after every step.
    """
    rng = np.random.default_rng([lookahead.seed, int(program.digest[:8], 16)])
    env.reset(options={"program": program})
    decisions: dict[Actions, Decision] = {}
    frontier: list[tuple[Actions, CompilerEnv]] = [((), env)]
    with ExitStack() as made:
        for width in (*lookahead.widths, 0):
            reached: dict[float, tuple[Actions, CompilerEnv]] = {}
            for taken, state in frontier:
                decisions[taken], clones = _try_all(state, taken, made)
                if taken:
                    state.close()
                for action, clone in clones.items():
                    ratio = decisions[taken].outcomes[action]
                    if ratio in reached:
                        clone.close()
                    else:
                        reached[ratio] = (*taken, action), clone
            frontier = _promising(list(reached[ratio] for ratio in sorted(reached)), width, lookahead.strays, rng)
            kept = {taken for taken, _ in frontier}
            for taken, clone in reached.values():
                if taken not in kept:
                    clone.close()
    back_up(decisions)
    return [replace(decision, weight=1 / len(decisions)) for decision in decisions.values()]


def _try_all(env: CompilerEnv, taken: Actions, made: ExitStack) -> tuple[Decision, dict[int, CompilerEnv]]:
    """Forks the compiler once for every allowed action; some of the clones work at once. Returns those whose episode goes on, to be closed;
    ``made`` closes what nobody else does."""
    ratio = env.ratio
    if ratio is None:
        raise TaskError(f"{env.task}: a look-ahead needs what is measured after every step, expected dense=True and a reward that measures")
    outcomes = np.full(env.num_actions, np.inf)
    clones: dict[int, CompilerEnv] = {}
    allowed = np.flatnonzero(env.observation["action_mask"])
    for group in np.array_split(allowed, -(-len(allowed) // PARALLEL)):
        working = {int(action): made.enter_context(closing(env.fork())) for action in group}
        for action, clone in working.items():
            clone.send(action)
        for action, clone in working.items():
            *_, terminated, truncated, info = clone.receive()
            if "error" not in info:
                outcomes[action] = info["ratio"]
            if terminated or truncated:
                clone.close()
            else:
                clones[action] = clone
    return Decision(taken, env.observation, ratio, outcomes), clones


def _promising(ordered: list[tuple[Actions, CompilerEnv]], width: int, strays: int, rng: np.random.Generator) -> list[tuple[Actions, CompilerEnv]]:
    """The best states, and some others; none where nothing more is to be looked into."""
    others = ordered[width:]
    return ordered[:width] + [others[i] for i in rng.permutation(len(others))[:strays]] if width else []


def back_up(decisions: dict[Actions, Decision]) -> None:
    """Replaces what an action reached at once by the best that was reached through it."""
    for taken in sorted(decisions, key=len, reverse=True):
        if taken:
            decisions[taken[:-1]].outcomes[taken[-1]] = decisions[taken].best


def look_into_all(look_into: Callable[[Program], list[Decision]], programs: Sequence[Program], folder: Path) -> Iterator[Found]:
    """Looks into one program after another, into one file each; those found there are not looked into again, and what leaves nothing to look into
    gets none. A failure is yielded too.

    Raises:
        TaskError: the environment is none that can be searched, whatever the program.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs:
        file = folder / f"{program.digest}.npz"
        if file.exists():
            continue
        try:
            decisions = look_into(program)
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


def read_decisions(folder: Path) -> dict[str, list[Decision]]:
    """The decisions of every file, by the program's digest."""
    return {file.stem: _read(file) for file in sorted(folder.glob("*.npz"))}


def _write(file: Path, decisions: Sequence[Decision]) -> None:
    longest = max(len(d.taken) for d in decisions)
    unfinished = file.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("wb") as stream:
        np.savez_compressed(
            stream,
            taken=np.array([d.taken + (-1,) * (longest - len(d.taken)) for d in decisions], dtype=np.int64),
            ratio=np.array([d.ratio for d in decisions]),
            outcomes=np.stack([d.outcomes for d in decisions]),
            weight=np.array([d.weight for d in decisions]),
            **_columns([_flat(d.observation) for d in decisions]),  # type: ignore[arg-type]  # of NumPy's stub: these are arrays, not its options
        )
    unfinished.replace(file)


def _flat(observation: Observation, prefix: str = "observation") -> dict[str, np.ndarray]:
    """Every tensor by its path: the parts of several agents lie one deeper."""
    tensors: dict[str, np.ndarray] = {}
    for name, value in observation.items():
        tensors |= _flat(value, f"{prefix}/{name}") if isinstance(value, dict) else {f"{prefix}/{name}": np.asarray(value)}
    return tensors


def _nested(tensors: Mapping[str, np.ndarray]) -> Observation:
    """What ``_flat`` was given."""
    observation: Observation = {}
    for path, value in tensors.items():
        part = observation
        _, *outer, name = path.split("/")
        for key in outer:
            part = part.setdefault(key, {})
        part[name] = value
    return observation


def _columns(rows: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Each tensor's values, once however often they recur, and which of them each row has."""
    columns = {}
    for name in rows[0]:
        places: dict[bytes, int] = {}
        index = [places.setdefault(row[name].tobytes(), len(places)) for row in rows]
        first = {place: row[name] for place, row in reversed(list(zip(index, rows, strict=True)))}
        columns[name] = np.stack([first[place] for place in range(len(places))])
        columns[f"index/{name}"] = np.array(index)
    return columns


def _read(file: Path) -> list[Decision]:
    with np.load(file) as columns:
        rows = {name: columns[name] for name in columns.files}
    count = len(rows["ratio"])
    weights = rows["weight"] if "weight" in rows else np.full(count, 1 / count)  # which older files leave unsaid
    places = {name: rows.get(f"index/{name}", np.arange(count)) for name in rows if name.startswith("observation/")}  # as is the index
    return [
        Decision(
            tuple(int(a) for a in rows["taken"][i] if a >= 0),
            _nested({name: rows[name][place[i]] for name, place in places.items()}),
            float(rows["ratio"][i]),
            rows["outcomes"][i],
            float(weights[i]),
        )
        for i in range(count)
    ]
