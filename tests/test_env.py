# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments keep Gymnasium's rules and their own, in every kind of episode end."""

import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from select import select
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from mlcb_gym.envs.action_lists import read_actions
from mlcb_gym.envs.compiler_env import FAILURE_RETURN
from mlcb_gym.envs.objective import Objective
from mlcb_gym.envs.posetrl import MAX_STEPS, PosetRLEnv
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.errors import MlcbError, ProgramError, SessionLost, TaskError
from mlcb_gym.session import Episode, EpisodeRequest, Limits, WorkerSession
from mlcb_gym.spec import bind
from mlcb_gym.testing import ScriptedCompiler
from tests.support.posetrl import ACTIONS

MEM2REG, _, OZ, OUTLINED, STOP = range(5)
SECONDS = 30.0
Make = Callable[..., PosetRLEnv]


def test_return_is_what_was_saved_in_units_of_oz(make_env: Make) -> None:
    env = make_env()
    _, first = env.reset(seed=1)
    _, reward, *_, last = env.step(OZ)
    assert reward == pytest.approx((first["size"] - last["size"]) / first["size_oz"])
    assert last["size"] == first["size_oz"]


def test_returns_are_equal_however_often_is_measured(make_env: Make) -> None:
    returns = []
    for dense in (True, False):
        env = make_env(dense=dense)
        env.reset(seed=1)
        returns.append(sum(env.step(action)[1] for action in (MEM2REG, OUTLINED, STOP)))
    assert returns[0] == pytest.approx(returns[1])


def test_stop_terminates(make_env: Make) -> None:
    env = make_env()
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(STOP)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert "error" not in info


def test_horizon_terminates(make_env: Make) -> None:
    env = make_env(max_steps=1)
    env.reset(seed=1)
    observation, _, terminated, _, _ = env.step(MEM2REG)
    assert terminated
    assert observation["progress"] == 1.0
    assert observation["action_mask"].any()


def test_start_oz_starts_at_the_size_of_oz(make_env: Make) -> None:
    _, info = make_env(start="Oz").reset(seed=1)
    assert info["size"] == info["size_oz"]


@pytest.mark.parametrize("action", [-1, 99, float("nan"), 1.5, "stop"])
def test_illegal_action_ends_the_episode_and_does_not_pay(make_env: Make, action: object) -> None:
    env = make_env()
    env.reset(seed=1)
    earned = env.step(OZ)[1]
    _, reward, terminated, truncated, info = env.step(action)  # type: ignore[arg-type]
    assert (terminated, truncated) == (True, False)
    assert earned + reward == pytest.approx(FAILURE_RETURN)
    assert "illegal action" in info["error"]
    env.reset(seed=1)


def test_last_actions_are_observed_latest_first(make_env: Make) -> None:
    env = make_env()
    env.reset(seed=1)
    env.step(MEM2REG)
    assert env.step(OZ)[0]["last_actions"].tolist() == [OZ, MEM2REG, -1, -1]


def test_fork_goes_on_independently(make_env: Make) -> None:
    env = make_env()
    env.reset(seed=1)
    env.step(MEM2REG)
    clone = env.fork()
    assert clone.step(OZ)[0]["last_actions"][0] == OZ
    assert env.step(STOP)[2]
    assert clone.step(STOP)[2]
    clone.close()


def test_env_can_be_selected_until_it_is_ready(make_env: Make) -> None:
    env = make_env()
    env.send_reset()
    while not env.ready():
        assert select([env], [], [], SECONDS)[0]
    env.receive_reset()
    assert not env.ready()
    env.send(OZ)
    while not env.ready():
        assert select([env], [], [], SECONDS)[0]
    assert not env.receive()[2]


def test_refused_action_is_ready_at_once(make_env: Make) -> None:
    env = make_env()
    env.reset(seed=1)
    env.send(-1)
    assert env.ready()
    assert "illegal action" in env.receive()[4]["error"]


def test_silent_compiler_is_ready_when_its_turn_is_over_and_then_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcb_gym.session.episode.LATE_SECONDS", 0.01)
    ours, theirs = socket.socketpair()
    over = Limits(turn_seconds=-Limits.GRACE_SECONDS)
    spec = bind("posetrl", {"actions": ACTIONS})
    with theirs, closing(Episode.on_socket(ours.detach(), spec, EpisodeRequest(Path("p.bc"), limits=over))) as episode:
        assert episode.ready()
        with pytest.raises(SessionLost):
            episode.receive()


def test_killed_worker_truncates_and_the_next_reset_works(program: Path) -> None:
    session = WorkerSession()
    env = PosetRLEnv(programs=program, actions=ACTIONS, session=session)
    env.reset(seed=1)
    assert session._process is not None
    session._process.kill()
    session._process.wait()  # its children have been killed by then
    *_, terminated, truncated, info = env.step(OZ)
    assert (terminated, truncated) == (False, True)
    assert info["error"]
    env.reset(seed=1)
    env.close()
    session.close()


def test_endless_turn_ends_within_its_limit(make_env: Make) -> None:
    env = make_env(limits=Limits(turn_seconds=0.001))
    with pytest.raises(MlcbError, match="turn"):
        env.reset(seed=1, options={"program": "embedded/train/lisp"})


def test_close_leaves_no_process(program: Path) -> None:
    session = WorkerSession()
    env = PosetRLEnv(programs=program, actions=ACTIONS, session=session)
    env.reset(seed=1)
    pid = session.pid
    env.close()
    session.close()
    session.close()
    assert pid is not None
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"actions": "no-such-list"}, "no-such-list"),
        ({"reward": "money"}, "money"),
        ({"start": "O7"}, "O7"),
        ({"max_steps": 0}, "max_steps"),
        ({"metrics": ["money"]}, "money"),
        ({"forbidden": [9]}, "forbidden=9: expected indices of actions, from 0 to 4"),
        ({"dense": False, "reward": "poset"}, "only known step by step"),
    ],
)
def test_wrong_argument_is_named_when_the_env_is_made(program: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        PosetRLEnv(**{"programs": program, "actions": ACTIONS, **arguments})


@pytest.mark.parametrize(
    ("name", "content"),
    [("broken.bc", b"BC\xc0\xde broken"), ("empty.bc", b""), ("wrong.c", b"int f( {"), ("empty.ll", b""), ("odd.txt", b"?")],
)
def test_bad_program_is_one_line_and_no_hang(make_env: Make, tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(MlcbError, match=name) as caught:
        make_env().reset(options={"program": path})
    assert "\n" not in str(caught.value)


def test_missing_program_is_named() -> None:
    with pytest.raises(ProgramError, match="no-such-folder"):
        PosetRLEnv(programs="no-such-folder")


def test_vector_env_equals_single_envs(program: Path) -> None:
    arguments: dict[str, Any] = {"programs": program, "actions": ACTIONS}
    with_two = gymnasium.make_vec("PosetRL-v0", num_envs=2, vectorization_mode="vector_entry_point", **arguments)
    alone = gymnasium.make("PosetRL-v0", **arguments)
    together, _ = with_two.reset(seed=3)
    single, _ = alone.reset(seed=3)
    np.testing.assert_equal(together["embedding"][0], single["embedding"])
    stepped = with_two.step(np.array([OZ, MEM2REG]))
    assert stepped[1][0] == alone.step(OZ)[1]
    ended = with_two.step(np.array([STOP, MEM2REG]))
    assert ended[2].tolist() == [True, False]
    begun = with_two.step(np.array([OZ, OZ]))
    assert begun[0]["progress"][0] == 0.0
    with_two.close()
    alone.close()


def test_ended_episodes_begin_anew_where_they_are_asked_to(program: Path) -> None:
    made: dict[str, Any] = {"programs": str(program), "actions": ACTIONS, "max_steps": 1, "autoreset_mode": AutoresetMode.DISABLED}
    with closing(gymnasium.make_vec("PosetRL-v0", num_envs=2, vectorization_mode="vector_entry_point", **made)) as envs:
        first, _ = envs.reset(seed=1)
        ended, _, terminated, _, _ = envs.step(np.zeros(2, int))
        assert terminated.all()
        again, info = envs.reset(options={"reset_mask": np.array([False, True])})
    assert info["_program"].tolist() == [False, True]
    assert all(np.array_equal(again[name][1], first[name][1]) for name in first)
    assert all(np.array_equal(again[name][0], ended[name][0]) for name in first)


def two(program: Path, mode: AutoresetMode = AutoresetMode.NEXT_STEP) -> CompilerVectorEnv:
    return CompilerVectorEnv(PosetRLEnv, num_envs=2, programs=program, actions=ACTIONS, session=ScriptedCompiler(), autoreset_mode=mode)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda envs: envs.step(np.array([OZ])), TaskError, "step: actions has length 1, expected 2"),
        (lambda envs: envs.reset(seed=[1]), TaskError, "reset: seed has length 1, expected 2"),
        (lambda envs: envs.reset(seed=[1, 2, 3]), TaskError, "reset: seed has length 3, expected 2"),
        (lambda envs: envs.reset(seed=[1, -1]), gymnasium.error.Error, "-1"),
        (lambda envs: envs.reset(options={"reset_mask": np.array([True])}), TaskError, "reset: reset_mask has length 1, expected 2"),
    ],
)
def test_call_that_is_refused_leaves_every_sub_environment_as_it_was(
    program: Path, call: Callable[[CompilerVectorEnv], object], error: type[Exception], message: str
) -> None:
    with closing(two(program)) as envs:
        envs.reset(seed=1)
        with pytest.raises(error, match=message):
            call(envs)
        _, _, terminated, truncated, infos = envs.step(np.array([OZ, STOP]))
    assert (terminated.tolist(), truncated.tolist()) == ([False, True], [False, False])
    assert "error" not in infos


def test_step_with_an_episode_that_ended_is_refused_before_the_others_take_it(program: Path) -> None:
    with closing(two(program, AutoresetMode.DISABLED)) as envs:
        envs.reset(seed=1)
        envs.step(np.array([OZ, STOP]))
        with pytest.raises(gymnasium.error.ResetNeeded, match="step: no episode runs in sub-environment 1, expected"):
            envs.step(np.array([OZ, OZ]))
        envs.reset(options={"reset_mask": np.array([False, True])})
        assert "error" not in envs.step(np.array([OZ, OZ]))[-1]


def test_first_reset_is_of_every_sub_environment(program: Path) -> None:
    with closing(two(program)) as envs:
        with pytest.raises(gymnasium.error.ResetNeeded, match="reset: reset_mask leaves out sub-environment 1, expected"):
            envs.reset(options={"reset_mask": np.array([True, False])})
        assert "error" not in envs.reset(seed=(1, 2))[-1]


def test_vector_env_renders_a_line_of_each_sub_environment(program: Path) -> None:
    made: dict[str, Any] = {"programs": str(program), "actions": ACTIONS, "session": ScriptedCompiler(), "render_mode": "ansi"}
    with closing(gymnasium.make_vec("PosetRL-v0", num_envs=2, vectorization_mode="vector_entry_point", **made)) as envs:
        envs.reset(seed=1)
        envs.step(np.array([OZ, STOP]))
        lines: Any = envs.render()
    assert envs.render_mode == "ansi"
    assert [": step 1, return " in line for line in lines] == [True, True]


def test_vector_env_without_a_render_mode_renders_nothing(program: Path) -> None:
    with closing(two(program)) as envs:
        assert envs.render() is None


@pytest.mark.parametrize("show", [lambda env: env.render(), lambda env: env.action_mask, lambda env: env.action_masks()])
def test_what_an_episode_shows_needs_a_reset(program: Path, scripted: ScriptedCompiler, show: Callable[[PosetRLEnv], object]) -> None:
    env = PosetRLEnv(programs=program, actions=ACTIONS, session=scripted, render_mode="ansi")
    assert env.ratio is None
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"^(render|action_mask) called before the first reset$"):
        show(env)
    env.reset(seed=1)
    assert show(env) is not None


def test_actions_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "actions.txt").write_bytes(b"\xff")
    with pytest.raises(TaskError, match=r"^actions='.*actions.txt': no text in UTF-8, expected an action a line: [^\n]*$"):
        read_actions(tmp_path / "actions.txt")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_gymnasiums_own_vector_envs_work(program: Path, mode: str) -> None:
    envs = gymnasium.make_vec("PosetRL-v0", num_envs=2, vectorization_mode=mode, programs=str(program), actions=ACTIONS)
    envs.reset(seed=1)
    _, rewards, *_ = envs.step(np.array([OZ, OZ]))
    assert rewards[0] == rewards[1] != 0
    envs.close()


def test_metrics_are_measured_beside_those_of_the_reward(make_env: Make) -> None:
    env = make_env(metrics=("ir_instructions",))
    _, info = env.reset(seed=1)
    assert {"size", "ir_instructions"} <= set(info)
    assert env.deterministic


def test_time_makes_an_env_nondeterministic(program: Path, scripted: ScriptedCompiler) -> None:
    made = gymnasium.make("PosetRL-v0", programs=program, actions=ACTIONS, session=scripted, metrics=("llvm_seconds",))
    assert made.spec is not None
    assert made.spec.nondeterministic


def test_reward_of_ones_own_is_earned_at_every_step(make_env: Make) -> None:
    env = make_env(reward=Objective(("ir_instructions",), lambda before, after: before["ir_instructions"] - after["ir_instructions"]))
    _, first = env.reset(seed=1)
    _, reward, *_, last = env.step(OZ)
    assert reward == first["ir_instructions"] - last["ir_instructions"] > 0
    assert env.objective == ("size", "size_oz")


@pytest.mark.parametrize("dense", [True, False])
def test_reward_of_ones_own_is_known_at_the_end_where_it_says_how(make_env: Make, dense: bool) -> None:
    saved = Objective(("size", "size_unoptimized"), lambda before, after: before["size"] - after["size"], first={"size": "size_unoptimized"})
    env = make_env(reward=saved, dense=dense)
    env.reset(seed=1)
    earned = [env.step(action) for action in (OZ, STOP)]
    assert sum(reward for _, reward, *_ in earned) == earned[-1][4]["size_unoptimized"] - earned[-1][4]["size"]


def test_reward_that_is_only_known_step_by_step_needs_a_dense_episode() -> None:
    stepwise = Objective(("size",), lambda before, after: before["size"] - after["size"])
    with pytest.raises(TaskError, match="dense=False: this reward is only known step by step"):
        stepwise.wanted(dense=False)


def test_longest_episode_is_as_long_as_the_task_declares() -> None:
    assert bind("posetrl", {"actions": ACTIONS}).parameters["max_steps"] == MAX_STEPS
