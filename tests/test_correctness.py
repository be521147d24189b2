# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever a policy decides, the program is still right: random draws from all shipped actions, programs of known output."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from mlcb_gym.corpus import corpora
from mlcb_gym.envs.action_lists import read_actions
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.session.plugin import PluginSession
from tests.support.known_output import CSMITH_FLAGS, CSMITH_PROGRAMS, OUTPUTS, SAMPLE, compile_, csmith, run

LISTS = ("default", "coreset", "odg", "manual", "extended")
ACTIONS = [*dict.fromkeys(text for name in LISTS for text in read_actions(name) if text != "stop"), "stop"]
STEPS = 15


@pytest.mark.parametrize("name", SAMPLE)
def test_embedded_program_prints_the_same_after_a_random_episode(name: str, tmp_path: Path) -> None:
    assert outputs(corpora.embedded(f"embedded/{name}")[0], tmp_path, episodes=1) == {OUTPUTS[name]}


@pytest.mark.slow
@pytest.mark.parametrize("start", ["unoptimized", "Oz"])
@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_embedded_program_prints_the_same_after_20_random_episodes(name: str, start: str, tmp_path: Path) -> None:
    assert outputs(corpora.embedded(f"embedded/{name}")[0], tmp_path, episodes=20, start=start) == {OUTPUTS[name]}


@pytest.mark.slow
@pytest.mark.parametrize("start", ["unoptimized", "Oz"])
@pytest.mark.parametrize("index", range(CSMITH_PROGRAMS))
def test_csmith_program_prints_the_same_after_20_random_episodes(index: int, start: str, tmp_path: Path) -> None:
    source, expected = csmith(index, tmp_path)
    assert outputs(source, tmp_path, episodes=20, start=start, flags=CSMITH_FLAGS) == {expected}


@pytest.mark.parametrize("name", SAMPLE)
def test_every_action_leaves_the_same_in_another_process(name: str) -> None:
    assert_same_in_another_process(f"embedded/{name}")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(OUTPUTS) - set(SAMPLE)))
def test_every_action_leaves_the_same_in_another_process_on_all_programs(name: str) -> None:
    assert_same_in_another_process(f"embedded/{name}")


def assert_same_in_another_process(program: str) -> None:
    """A pass that goes by addresses, as gvn-sink does, differs from process to process, not from fork to fork."""
    first, second = after_every_action(program), after_every_action(program)
    assert [text for text in ACTIONS if first[text] != second[text]] == []


def after_every_action(program: str) -> dict[str, tuple[int, bytes]]:
    """By action: the size of the object, and the embedding, that it leaves when it comes first."""
    left = {}
    with closing(PosetRLEnv(programs=program, actions=ACTIONS, max_steps=1)) as env:
        for action, text in enumerate(ACTIONS):
            env.reset()
            observation, _, _, _, info = env.step(action)
            left[text] = info["size"], observation["embedding"].tobytes()
    return left


def outputs(source: Path, folder: Path, *, episodes: int, start: str = "unoptimized", flags: Sequence[str] = ()) -> set[str]:
    """Return the outputs of the program after each of several random episodes; one that fails to run prints its exit status."""
    module, optimized = folder / "program.bc", folder / "optimized.bc"
    compile_(source, "-Oz", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", *flags, output=module)
    rng = np.random.default_rng(len(source.stem))
    printed = set()
    with closing(PluginSession(keep=optimized)) as session:
        env = PosetRLEnv(programs=module, actions=ACTIONS, reward="none", start=start, max_steps=STEPS, session=session)
        for _ in range(episodes):
            taken = random_episode(env, rng)
            compile_(optimized, "-Oz", "-Xclang", "-disable-llvm-passes", output=folder / "program")
            printed.add(run(folder / "program") or f"nothing, after {taken}")
    return printed


def random_episode(env: PosetRLEnv, rng: np.random.Generator) -> list[str]:
    """Takes random allowed actions other than stop to the end; the texts of those taken."""
    observation, _ = env.reset()
    taken: list[str] = []
    ended = False
    while not ended:
        action = int(rng.choice(np.flatnonzero(observation["action_mask"])[:-1]))
        taken.append(env.actions[action])
        observation, _, ended, truncated, info = env.step(action)
        assert "error" not in info, (info, taken)
        assert not truncated
    return taken
