# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules with flipped bits: LLVM refuses one in a line, crashes in its episode, or plays it; the worker is as right afterwards as it was before.

`make check-address-programs` plays them in a worker that AddressSanitizer was built into.
"""

import os
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from mlcb_gym import TASKS
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import CompilerError, NoDecisions, ProgramError
from mlcb_gym.rollout.random_policy import random as any_allowed
from mlcb_gym.session import Limits, WorkerSession

PROGRAMS = "embedded/train"
MODULES = 8
STEPS = 20
MAGIC_BYTES = 4
LIMITS = Limits(cpu_seconds=20, turn_seconds=10.0)
CRASHES = ":".join((*(f"handle_{signal}=0" for signal in ("segv", "abort", "sigbus", "sigill", "sigfpe")), "allocator_may_return_null=1"))
"""Options of AddressSanitizer: LLVM may crash on such a module, or want too much memory; what is found in this project's code is another matter."""


def flipped(folder: Path, seed: int) -> Iterator[Path]:
    """Yield modules of the embedded programs, each with one to four other bits."""
    rng = random.Random(seed)
    programs = resolve(PROGRAMS)
    for number in range(MODULES):
        bits = bytearray(rng.choice(programs).bitcode.read_bytes())
        for _ in range(rng.randint(1, 4)):
            bits[rng.randrange(MAGIC_BYTES, len(bits))] ^= 1 << rng.randrange(8)
        module = folder / f"{number}.bc"
        module.write_bytes(bits)
        yield module


def play(env: CompilerEnv, program: object) -> list[Any]:
    """The observations and rewards of a few random steps; the error where there is one."""
    choose = any_allowed(np.random.default_rng(1))
    try:
        observation, info = env.reset(seed=1, options={"program": program})
    except (CompilerError, NoDecisions, ProgramError) as refused:
        return [str(refused)]
    seen: list[Any] = [observation]
    for _ in range(STEPS):
        observation, reward, terminated, truncated, info = env.step(choose(observation))
        assert not (truncated and "error" in info), info  # it ended otherwise than as LLVM does
        seen += [observation, reward, info.get("error")]
        if terminated or truncated:
            break
    return seen


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 26))])
@pytest.mark.parametrize("env_id", TASKS.values())
def test_flipped_module_ends_its_episode_alone(env_id: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASAN_OPTIONS", f"{os.environ.get('ASAN_OPTIONS', '')}:{CRASHES}")
    with closing(WorkerSession()) as session, closing(gymnasium.make(env_id, programs=PROGRAMS, session=session, limits=LIMITS).unwrapped) as env:
        assert isinstance(env, CompilerEnv)
        whole = play(env, env.programs[0])
        worker = session.pid
        for module in flipped(tmp_path, seed):
            assert [error for error in play(env, str(module)) if isinstance(error, str) and "\n" in error] == []
        np.testing.assert_equal(play(env, env.programs[0]), whole)
        assert session.pid == worker
