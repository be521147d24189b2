# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Logs in the format of LLVM's -training-log: LLVM's own are read to the byte, ours are what other readers expect."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from mlcb_gym import _native, toolchain
from mlcb_gym.cli import log as log_command
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import CompilerError, PolicyError, TaskError
from mlcb_gym.policies import shipped
from mlcb_gym.rollout import log as logs
from mlcb_gym.rollout.random_policy import random
from mlcb_gym.spec import TaskSpec
from mlcb_gym.testing import ScriptedCompiler
from mlcb_gym.training.recorded import RecordedDecisions
from tests.support.posetrl import ACTIONS

NUMPY = {"float": "f4", "double": "f8"} | {f"{sign}int{bits}_t": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
ALL_TYPES = {"features": [{"name": name, "type": name, "port": 0, "shape": [2, 1]} for name in NUMPY]}

Entry = tuple[str, int, dict[str, np.ndarray], np.ndarray | None]


@pytest.fixture
def env(program: Path, scripted: ScriptedCompiler) -> Iterator[PosetRLEnv]:
    with closing(PosetRLEnv(programs=program, actions=ACTIONS, session=scripted)) as env:
        yield env


@pytest.fixture
def log(env: PosetRLEnv, tmp_path: Path) -> Path:
    path = tmp_path / "recorded.log"
    logs.record(env, env.programs, random(np.random.default_rng(1)), path, episodes=2)
    return path


def read_by_the_book(path: Path) -> Iterator[Entry]:
    """A reader made after the description in llvm/Analysis/Utils/TrainingLogger.h alone."""

    def tensor(spec: dict[str, Any]) -> np.ndarray:
        values = np.empty(spec["shape"], NUMPY[spec["type"]])
        assert file.readinto(values.data) == values.nbytes
        return values

    with path.open("rb") as file:
        header = json.loads(file.readline())
        while line := file.readline():
            event = json.loads(line)
            if "context" in event:
                context = event["context"]
                continue
            tensors = {spec["name"]: tensor(spec) for spec in header["features"]}
            assert file.readline() == b"\n"
            score = None
            if "score" in header:
                assert json.loads(file.readline()) == {"outcome": event["observation"]}
                score = tensor(header["score"])
                assert file.readline() == b"\n"
            yield context, event["observation"], tensors, score


def test_log_is_what_other_readers_expect(log: Path) -> None:
    ours, theirs = list(_native.LogReader(str(log))), list(read_by_the_book(log))
    assert len(ours) > 2
    np.testing.assert_equal(ours, theirs)
    assert list(dict.fromkeys(context for context, *_ in ours)) == ["sum.c", "sum.c#2"]


def test_episode_is_recorded_as_it_was_played(env: PosetRLEnv, tmp_path: Path) -> None:
    path = tmp_path / "one.log"
    played: list[Any] = []

    def choose(observation: dict[str, np.ndarray]) -> int:
        played.append((observation, len(played)))
        return len(played) - 1

    recorded = logs.record(env, env.programs, choose, path)
    entries = list(_native.LogReader(str(path)))
    assert (recorded.episodes, recorded.decisions, recorded.failed) == (1, len(played), {})
    for (observation, action), (_, _, tensors, _) in zip(played, entries, strict=True):
        assert tensors.pop("subsequence") == action
        np.testing.assert_equal(tensors, observation)
    env.reset(options={"program": env.programs[0]})
    rewards = [np.float32(env.step(action)[1]) for _, action in played]
    assert [score for *_, score in entries] == rewards


def test_failed_program_is_said_and_the_others_recorded(env: PosetRLEnv, tmp_path: Path) -> None:
    actions = iter([99, len(env.actions) - 1])
    recorded = logs.record(env, [*env.programs, *resolve("embedded/train/fft")], lambda observation: next(actions), tmp_path / "failed.log")
    assert recorded.failed == {"sum.c": "illegal action 99: action_mask does not allow it"}
    assert recorded.episodes == 1


def test_log_of_single_functions_is_refused(tmp_path: Path) -> None:
    command = ["record", "eviction", "--episode", "function", "--programs", "embedded/train/fft", "-o", str(tmp_path / "x.log")]
    done = CliRunner().invoke(log_command.app, command)
    assert isinstance(done.exception, TaskError)
    assert str(done.exception) == 'eviction: episode="function": a log takes whole programs, expected episode="module"'
    assert not (tmp_path / "x.log").exists()


def test_log_stays_as_it_is_where_no_program_can_be_recorded(env: PosetRLEnv, tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text("before")
    with pytest.raises(CompilerError, match=r"^no program could be recorded; sum.c: illegal action 99: action_mask does not allow it$"):
        logs.record(env, env.programs, lambda observation: 99, tmp_path / "old.log")
    assert [(path.name, path.read_text()) for path in tmp_path.glob("*.log")] == [("old.log", "before")]


def test_llvms_own_log_is_read_and_written_to_the_byte(tmp_path: Path) -> None:
    base, copy = tmp_path / "channel", tmp_path / "copy.log"
    base.with_suffix(".in").write_bytes(bytes(8 * 10_000))  # never inline
    options = ["-enable-ml-inliner=release", f"-inliner-interactive-channel-base={base}", "-inliner-interactive-include-default"]
    program = resolve("embedded/train/lru_cache")[0].bitcode
    subprocess.run([toolchain.tool("opt"), "-passes=scc-oz-module-inliner", *options, program, "-disable-output"], check=True)
    written = base.with_suffix(".out")
    log = _native.LogReader(str(written))
    assert len(json.loads(log.header)["features"]) == 39
    with closing(_native.LogWriter(str(copy), log.header)) as writer:
        for context, _, tensors, _ in log:
            writer.write(context, tensors)
    assert copy.read_bytes() == written.read_bytes()


def test_every_type_survives_every_form(tmp_path: Path) -> None:
    log, lines, again = tmp_path / "a.log", tmp_path / "a.jsonl", tmp_path / "b.log"
    with closing(_native.LogWriter(str(log), json.dumps(ALL_TYPES))) as writer:
        for _ in range(2):
            writer.write('"f"\n', {name: _extremes(dtype) for name, dtype in NUMPY.items()})
    logs.convert(log, lines)
    logs.convert(lines, again)
    assert again.read_bytes() == log.read_bytes()
    logs.convert(log, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["context"].tolist() == ['"f"\n'] * 2
        for name, dtype in NUMPY.items():
            assert arrays[name].dtype == np.dtype(dtype)
            np.testing.assert_equal(arrays[name][1], _extremes(dtype))


def test_tensor_of_a_name_that_numpy_takes_is_named(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    tensor = ALL_TYPES["features"][0] | {"name": "file"}
    with closing(_native.LogWriter(str(log), json.dumps(ALL_TYPES | {"features": [tensor]}))):
        pass
    with pytest.raises(TaskError, match=r"a.log: a tensor has the name 'file'$"):
        logs.convert(log, tmp_path / "a.npz")


def _extremes(dtype: str) -> np.ndarray:
    bounds = np.finfo(dtype) if dtype[0] == "f" else np.iinfo(dtype)
    return np.array([[bounds.min], [bounds.max]], dtype)


@pytest.mark.parametrize("cut", [1, 100, 1000, 3000])
def test_truncated_log_is_one_line_with_the_position(log: Path, tmp_path: Path, cut: int) -> None:
    broken = tmp_path / "broken.log"
    broken.write_bytes(log.read_bytes()[:-cut])
    with pytest.raises(_native.ProtocolError, match=r"broken.log: at byte \d+: the end comes in the middle of a record$"):
        list(_native.LogReader(str(broken)))


def test_foreign_file_is_named(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.log"
    foreign.write_bytes(b"\x7fELF\x02\x01\x01\n")
    with pytest.raises(_native.ProtocolError, match=r"foreign.log: at byte 0: the first line is not LLVM's declaration"):
        _native.LogReader(str(foreign))


def test_wrong_line_of_json_is_named(tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text(json.dumps(ALL_TYPES) + '\n{"context": "f", "tensors": {}, "score": null}\n')
    with pytest.raises(TaskError, match=r"a.jsonl: line 2 is no observation .*: tensor float is missing"):
        logs.convert(lines, tmp_path / "b.log")
    with pytest.raises(TaskError, match=r"b.csv: expected .jsonl or .npz"):
        logs.convert(tmp_path / "a.log", tmp_path / "b.csv")


@pytest.mark.parametrize("name", ["b.npz", "b.jsonl"])
def test_log_of_json_lines_has_the_ending_of_neither_form(log: Path, tmp_path: Path, name: str) -> None:
    logs.convert(log, tmp_path / "a.jsonl")
    with pytest.raises(TaskError, match=rf"{name}: expected a log to write, of another ending than .jsonl and .npz$"):
        logs.convert(tmp_path / "a.jsonl", tmp_path / name)
    assert not (tmp_path / name).exists()


def test_line_that_is_no_text_is_named(tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(json.dumps(ALL_TYPES).encode() + b'\n{"context": "\xff"}\n')
    with pytest.raises(TaskError, match=r"a.jsonl: line 2 is no observation .*can't decode byte 0xff"):
        logs.convert(lines, tmp_path / "b.log")
    lines.write_bytes(b"\xff\n")
    with pytest.raises(_native.ProtocolError, match="the first line is not LLVM's declaration"):
        logs.convert(lines, tmp_path / "b.log")


def test_file_is_not_converted_into_itself(log: Path, tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    logs.convert(log, lines)
    before = lines.read_bytes()
    with pytest.raises(TaskError, match=r"a.jsonl: expected another file than the one that is read"):
        logs.convert(lines, tmp_path / ".." / tmp_path.name / "a.jsonl")
    assert lines.read_bytes() == before


def test_failed_conversion_leaves_the_target_as_it_was(log: Path, tmp_path: Path) -> None:
    broken, target = tmp_path / "broken.log", tmp_path / "b.jsonl"
    broken.write_bytes(log.read_bytes()[:-1])
    target.write_text("before")
    files = set(tmp_path.iterdir())
    with pytest.raises(_native.ProtocolError, match="the end comes in the middle"):
        logs.convert(broken, target)
    assert target.read_text() == "before"
    assert set(tmp_path.iterdir()) == files


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ([{"name": "text", "dtype": "string"}], "t: LLVM's format knows no strings, such as 'text'"),
        (None, "t: LLVM's format knows no several agents, the task has 2"),
    ],
    ids=["string", "agents"],
)
def test_what_the_format_cannot_hold_is_refused(inputs: Any, sentence: str) -> None:
    agent = {"name": "a", "inputs": inputs or [], "advice": {"kind": "value", "name": "x"}}
    spec = TaskSpec(json.dumps({"task": "t", "agents": [agent] if inputs else [agent, agent | {"name": "b"}]}))
    with pytest.raises(_native.InvalidArgument, match=sentence):
        _native.log_header(spec.json, True)


def test_default_is_oz_and_nothing_more(env: PosetRLEnv) -> None:
    observation, _ = env.reset()
    assert env.actions[env.default_action(observation | {"progress": np.array(0, np.float32)})] == "default<Oz>"
    assert env.actions[env.default_action(observation | {"progress": np.array(0.5, np.float32)})] == "stop"


@pytest.mark.parametrize("task", ["inliner", "function_size", "eviction"])
def test_decisions_of_every_kind_of_task_are_recorded_and_learnt_from(task: str, tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert "in 1 episodes" in run("record", task, "--programs", "embedded/train/fft", "-o", log)
    made: Any = env_class(task)
    with closing(made(programs="embedded/train/fft")) as env:
        batch = RecordedDecisions([str(log)], env, seed=1).sample(4)
    assert batch.env_steps() == 4


@pytest.mark.parametrize("policy", ["default:", "random", str(shipped()["posetrl"])])
def test_command_records_and_shows(policy: str, tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    recorded = run("record", "posetrl", "--programs", "embedded/train/lru_cache", "--policy", policy, "-o", log)
    assert "in 1 episodes" in recorded
    shown = run("show", log)
    assert "in 1 contexts" in shown
    assert "subsequence" in shown
    assert "(score)" in shown


def test_policy_of_other_parameters_is_refused(tmp_path: Path) -> None:
    arguments = [
        "record",
        "posetrl",
        "--policy",
        shipped()["posetrl"],
        "--max-steps",
        3,
        "--programs",
        "embedded/train/lru_cache",
        "-o",
        tmp_path / "x",
    ]
    done = CliRunner().invoke(log_command.app, [str(argument) for argument in arguments])
    assert isinstance(done.exception, PolicyError)
    assert "made for posetrl with other parameters" in str(done.exception)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(log_command.app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output
