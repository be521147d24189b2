# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever a policy decides, the program is still right: random draws from all shipped actions, programs of known output."""

import json
import subprocess
from collections.abc import Sequence
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.envs.posetrl import PosetRLEnv, read_actions
from mlcb_gym.session.plugin import PluginSession

LISTS = ("default", "coreset", "odg", "manual", "extended")
ACTIONS = [*dict.fromkeys(text for name in LISTS for text in read_actions(name) if text != "stop"), "stop"]
STEPS = 15
MANIFEST = json.loads(files("mlcb_gym.corpus").joinpath("embedded/manifest.json").read_text())
OUTPUTS = {name: entry["output"] for name, entry in MANIFEST["programs"].items()}
SAMPLE = sorted(OUTPUTS)[::9]
CSMITH_PROGRAMS, CSMITH_SECONDS = 50, 5.0


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


CSMITH_FLAGS = ("-I/usr/include/csmith", "-w")


def outputs(source: Path, folder: Path, *, episodes: int, start: str = "unoptimized", flags: Sequence[str] = ()) -> set[str]:
    """What the program prints after each of several random episodes; one that fails to run prints its exit status."""
    module, optimized = folder / "program.bc", folder / "optimized.bc"
    compile_(source, "-Oz", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", *flags, output=module)
    rng = np.random.default_rng(len(source.stem))
    printed = set()
    with closing(PluginSession(keep=optimized)) as session:
        env = PosetRLEnv(programs=module, actions=ACTIONS, reward="none", start=start, max_steps=STEPS, verify=True, session=session)
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


def csmith(index: int, folder: Path) -> tuple[Path, str]:
    """The first program of a row of seeds that ends in time when it is not optimised, and what it prints."""
    for attempt in range(20):
        source = folder / f"csmith{index}_{attempt}.c"
        seed = str(1 + index + 1000 * attempt)
        source.write_text(subprocess.run(["csmith", "--seed", seed], check=True, capture_output=True, text=True, cwd=folder).stdout)
        compile_(source, "-O0", *CSMITH_FLAGS, output=folder / "reference")
        try:
            return source, run(folder / "reference", CSMITH_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"csmith makes no program that ends within {CSMITH_SECONDS} s, row {index}")


def compile_(source: Path, *flags: str, output: Path) -> None:
    subprocess.run([toolchain.tool("clang"), *flags, source, "-o", output], check=True, capture_output=True, timeout=600)


def run(program: Path, seconds: float = 60.0) -> str:
    done = subprocess.run([program], capture_output=True, text=True, timeout=seconds)
    return done.stdout if done.returncode == 0 else f"exit status {done.returncode}"
