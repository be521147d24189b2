# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes as a log in the format of LLVM's ``-training-log``, which MLGO's tools read."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from mlcb_gym import _native
from mlcb_gym.atomic import replacing
from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.errors import CompilerError, MlcbError, TaskError
from mlcb_gym.rollout.play import Choose, Reset, Script, play_in_order


@dataclass(frozen=True)
class Step:
    """A decision of an episode: what was observed, the action, and its reward."""

    observation: Observation
    action: Action
    reward: float


@dataclass(frozen=True)
class Recorded:
    """The counts of a log, and the contexts whose episode failed, with the reason."""

    episodes: int
    decisions: int
    failed: dict[str, str]


def record(env: CompilerEnv, programs: Sequence[Program], choose: Choose, path: Path, *, episodes: int = 1) -> Recorded:
    """Play episodes on every program and write each as a context of its own, by the name of the program; from the second one on
    ``name#2`` and so on.

    The log has a feature for each tensor of the observation, padded with zeros where its length varies, and the decision as the last one; the
    reward as the score. The steps before a failure are kept. The file is there once it is whole.

    Raises:
        InvalidArgument: the format cannot hold the task: it has strings, or several agents.
        SystemError: the file cannot be written.
        CompilerError: no episode could be played to its end.
        TaskError: an episode is one function of a program.
    """
    env.check_whole("a log")
    header = _native.log_header(env.task_spec.json, True)
    agent = env.task_spec.agents[0]
    counts: Counter[str] = Counter()
    failed: dict[str, str] = {}
    with replacing(path) as unfinished, closing(_native.LogWriter(str(unfinished), header)) as log:
        for program in programs:
            for number in range(1, episodes + 1):
                context = program.name if number == 1 else f"{program.name}#{number}"
                steps: list[Step] = []
                try:
                    play_in_order([env], [_recorded(program, choose, steps)])
                    counts["episodes"] += 1
                except MlcbError as error:
                    failed[context] = str(error)
                for step in steps:
                    tensors = {tensor.name: tensor.padded(step.observation.get(tensor.name)) for tensor in agent.inputs}
                    decision = {agent.advice["name"]: np.array([env.advice(step.action)])}
                    log.write(context, tensors | decision, np.array([step.reward], np.float32))
                counts["decisions"] += len(steps)
        if not counts["episodes"]:
            raise CompilerError("; ".join(["no program could be recorded", *(f"{context}: {error}" for context, error in failed.items())][:2]))
    return Recorded(counts["episodes"], counts["decisions"], failed)


def _recorded(program: Program, choose: Choose, steps: list[Step]) -> Script[None]:
    """Play one episode and append its steps. A failure is raised behind the last one."""
    answer = yield Reset(program)
    while not answer.ended:
        observation, action = deepcopy(answer.observation), choose(answer.observation)
        assert action is not None
        answer = yield action
        steps.append(Step(observation, action, answer.reward))
    if "error" in answer.info:
        raise CompilerError(answer.info["error"])


def summary(path: Path) -> Table:
    """Return the tensors that a log declares, with their bounds, and the number of its observations."""
    log = _native.LogReader(str(path))
    declared = json.loads(log.header)
    contexts: Counter[str] = Counter()
    bounds: dict[str, tuple[float, float]] = {}
    for context, _, tensors, score in log:
        contexts[context] += 1
        for name, array in (tensors if score is None else tensors | {"(score)": score}).items():
            if array.size:
                low, high = bounds.get(name, (np.inf, -np.inf))
                bounds[name] = min(low, array.min()), max(high, array.max())
    title = f"{path}: {contexts.total()} observations in {len(contexts)} contexts"
    table = Table("tensor", "type", "shape", "least", "most", title=title, title_justify="left")
    apart = [declared[role] | {"name": f"({role})"} for role in ("score", "advice") if role in declared]
    for tensor in [*declared["features"], *apart]:
        least, most = bounds.get(tensor["name"], ("", ""))
        table.add_row(tensor["name"], tensor["type"], str(tensor["shape"]), str(least), str(most))
    return table


def to_json_lines(path: Path) -> Iterator[str]:
    """The header, then a line for each observation: its context, number, tensors (nested lists), and score or null."""
    log = _native.LogReader(str(path))
    yield log.header
    for context, number, tensors, score in log:
        lists = {name: array.tolist() for name, array in tensors.items()}
        yield json.dumps({"context": context, "observation": number, "tensors": lists, "score": None if score is None else score.tolist()})


def to_arrays(path: Path) -> dict[str, np.ndarray]:
    """Every tensor of all observations under its name, with a leading axis; ``context``, and ``score`` where each has one.

    Raises:
        TaskError: a tensor has one of these names.
    """
    log = _native.LogReader(str(path))
    columns: dict[str, list[Any]] = {tensor["name"]: [] for tensor in json.loads(log.header)["features"]}
    for name in ("context", "score", "file"):  # the last is an argument of NumPy
        if name in columns:
            raise TaskError(f"{path}: a tensor has the name '{name}'")
    contexts, scores = [], []
    for context, _, tensors, score in log:
        contexts.append(context)
        scores.append(score)
        for name, array in tensors.items():
            columns[name].append(array)
    arrays = {"context": np.array(contexts, str)} | {name: np.stack(column) if column else np.empty(0) for name, column in columns.items()}
    return arrays | ({"score": np.stack(scores)} if scores and all(score is not None for score in scores) else {})


def convert(source: Path, target: Path) -> None:
    """Writes a log as ``.jsonl`` or ``.npz``; a ``.jsonl`` as a log, which has neither ending.

    Raises:
        TaskError: the endings are others, both files are the same, or a line of JSON is no observation.
        ProtocolError: the log is cut off, or is none.
    """
    if target.resolve() == source.resolve():
        raise TaskError(f"{target}: expected another file than the one that is read")
    to_log = source.suffix == ".jsonl"
    if to_log == (target.suffix in (".jsonl", ".npz")):
        expected = "a log to write, of another ending than .jsonl and .npz" if to_log else ".jsonl or .npz, or a .jsonl to read"
        raise TaskError(f"{target}: expected {expected}")
    with replacing(target) as unfinished:
        if to_log:
            _from_json_lines(source, unfinished)
        elif target.suffix == ".jsonl":
            with unfinished.open("w") as lines:
                lines.writelines(f"{line}\n" for line in to_json_lines(source))
        else:
            with unfinished.open("wb") as file:
                np.savez_compressed(file, **to_arrays(source))  # type: ignore[arg-type]


def _from_json_lines(source: Path, target: Path) -> None:
    with source.open("rb") as lines:
        header = next(lines, b"").decode(errors="replace")
        with closing(_native.LogWriter(str(target), header.strip())) as log:
            for number, line in enumerate(lines, 2):
                try:
                    entry = json.loads(line)
                    log.write(entry["context"], entry["tensors"], entry["score"])
                except (ValueError, KeyError, TypeError, _native.InvalidArgument) as error:
                    raise TaskError(f"{source}: line {number} is no observation as its first line declares: {error}") from error
