# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes as a log in the format of LLVM's ``-training-log``: what MLGO's tools read, and behavioural cloning starts from."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from rich.table import Table

from mlcb_gym import _native
from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.errors import CompilerError, MlcbError, TaskError
from mlcb_gym.spec import Tensor

Choose = Callable[[Observation], Action]


@dataclass(frozen=True)
class Recorded:
    """What ``record`` wrote, and the programs that have no episode, with the reason."""

    episodes: int
    decisions: int
    failed: dict[str, str]


def random(seed: int, env: CompilerEnv) -> Choose:
    """Any allowed action, all equally likely."""
    rng, mask = np.random.default_rng(seed), env.task_spec.agents[0].mask
    if mask is None:
        space = env.action_space
        assert isinstance(space, spaces.Box)
        return lambda observation: rng.uniform(space.low, space.high).astype(np.float32)
    return lambda observation: int(rng.choice(np.flatnonzero(observation[mask])))


@contextmanager
def of_policy(folder: Path, env: CompilerEnv) -> Iterator[Choose]:
    """What a policy folder decides, in the very runner that a compiler deploys.

    Raises:
        SpecMismatch: it was made for another task than the environment is bound to.
    """
    with closing(_native.Compiler.open(f"onnx:{folder}", env.task_spec.json)) as compiler:
        yield lambda observation: env.action(compiler.observe(0, observation))


def record(env: CompilerEnv, programs: Sequence[Program], choose: Choose, path: Path, *, episodes: int = 1) -> Recorded:
    """Plays episodes on every program and writes each as a context of its own, by the name of the program; from the second one on
    ``name#2`` and so on.

    A feature for each tensor of the observation, padded with zeros where its length varies, and the decision as the last one; the reward as
    the score. What an episode earned before it failed is kept.

    Raises:
        InvalidArgument: the format cannot hold the task: it has strings, or several agents.
        SystemError: the file cannot be written.
    """
    header = _native.log_header(env.task_spec.json, True)
    agent = env.task_spec.agents[0]
    decision = agent.advice["name"]
    counts: Counter[str] = Counter()
    failed: dict[str, str] = {}
    with closing(_native.LogWriter(str(path), header)) as log:
        for program in programs:
            for number in range(1, episodes + 1):
                context = program.name if number == 1 else f"{program.name}#{number}"
                try:
                    for observation, action, reward in _episode(env, program, choose):
                        padded = {tensor.name: _padded(tensor, observation[tensor.name]) for tensor in agent.inputs}
                        log.write(context, padded | {decision: np.array([env.advice(action)])}, np.array([reward], np.float32))
                        counts["decisions"] += 1
                    counts["episodes"] += 1
                except MlcbError as error:
                    failed[context] = str(error)
    return Recorded(counts["episodes"], counts["decisions"], failed)


def _episode(env: CompilerEnv, program: Program, choose: Choose) -> Iterator[tuple[Observation, Action, float]]:
    observation, _ = env.reset(options={"program": program})
    ended = False
    while not ended:
        action = choose(observation)
        seen = observation
        observation, reward, terminated, truncated, info = env.step(action)
        yield seen, action, reward
        ended = terminated or truncated
    if "error" in info:
        raise CompilerError(info["error"])


def _padded(tensor: Tensor, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if not any(tensor.varying):
        return array
    whole = np.zeros(tensor.shape, array.dtype)
    whole[tuple(slice(0, length) for length in array.shape)] = array
    return whole


def summary(path: Path) -> Table:
    """What a log declares, and how much of it there is."""
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
    for name in ("context", "score"):
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
    """Writes a log as ``.jsonl``, ``.npz``, or, from ``.jsonl``, as a log.

    Raises:
        TaskError: neither file has one of these endings, both are the same, or a line of JSON is no observation.
        ProtocolError: the log is cut off, or is none.
    """
    if target.resolve() == source.resolve():
        raise TaskError(f"{target}: expected another file than the one that is read")
    if target.suffix not in (".jsonl", ".npz") and source.suffix != ".jsonl":
        raise TaskError(f"{target}: expected .jsonl or .npz, or a .jsonl to read")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:  # the target is replaced when all is written
        written = Path(folder) / target.name
        if source.suffix == ".jsonl":
            _from_json_lines(source, written)
        elif target.suffix == ".jsonl":
            with written.open("w") as file:
                file.writelines(f"{line}\n" for line in to_json_lines(source))
        else:
            np.savez_compressed(written, **to_arrays(source))  # type: ignore[arg-type]
        written.replace(target)


def _from_json_lines(source: Path, target: Path) -> None:
    with source.open() as lines:
        header = next(lines, "")
        with closing(_native.LogWriter(str(target), header.strip())) as log:
            for number, line in enumerate(lines, 2):
                try:
                    entry = json.loads(line)
                    log.write(entry["context"], entry["tensors"], entry["score"])
                except (ValueError, KeyError, TypeError, _native.InvalidArgument) as error:
                    raise TaskError(f"{source}: line {number} is no observation as its first line declares: {error}") from error
