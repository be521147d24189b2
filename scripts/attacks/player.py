# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A learner of its own process, which plays episodes without end and says of each how it went.

python -m scripts.attacks.player Inliner-v0 worker:
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

import gymnasium
import numpy as np
from gymnasium import logger

from benchmarks.report import resident_megabytes
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import SessionLost
from mlcb_gym.rollout.random_policy import random
from scripts.training_faults import MARK

PROGRAMS = "embedded/train"
START_SECONDS = 120.0
"""The time for an environment to be made and its first episode to end, on a machine that may be busy."""
EPISODES = 5
"""The number of episodes after which what is held is looked at."""


@dataclass(frozen=True)
class Played:
    """An episode as its learner saw it."""

    began: float
    """Of the clock that all processes share, ``time.monotonic``."""
    ended: float
    error: str | None
    truncated: bool
    """Ended by a fault of the machine, which says nothing of the policy."""
    descriptors: int
    megabytes: float
    worker_descriptors: int
    worker_megabytes: float


class Player:
    """A learner that runs; a context manager, at whose end it is killed."""

    def __init__(self, env_id: str, session: str, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", "scripts.attacks.player", env_id, session]
        marked = os.environ | {MARK: str(os.getpid())} | environment
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0, env=marked)

    def __enter__(self) -> "Player":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Kill it with -9."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def episodes(self, seconds: float) -> Iterator[Played]:
        """Yield the episodes that it tells of within so many seconds, those of before first.

        Raises:
            RuntimeError: it has ended.
        """
        assert self.process.stdout is not None
        until = time.monotonic() + seconds
        while select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the learner ended with {self.process.wait()}")
            yield Played(**json.loads(line))

    def recovered(self, since: float, seconds: float) -> tuple[list[Played], Played | None]:
        """Return the episodes that have failed since a time, and the first whole one that began after it; None where none did within the seconds."""
        failed = list[Played]()
        for played in self.episodes(seconds):
            if played.error is not None and played.ended > since:
                failed.append(played)
            if played.error is None and played.began > since:
                return failed, played
        return failed, None

    def fewest_descriptors(self, seconds: float, hoped: int | None = None) -> int:
        """Return what it holds after its next episodes, at least. A channel that was closed may be there for some episodes more, on a busy machine
        for many: where so few are hoped for, all episodes of these seconds may show them."""
        held = list[int]()
        for played in self.episodes(seconds):
            held.append(played.descriptors)
            if len(held) >= EPISODES and (hoped is None or min(held) <= hoped):
                break
        return min(held, default=0)


def main() -> None:
    """Play an environment, named with its session on the command line, and print a line of JSON for each episode, until Ctrl-C."""
    env_id, session = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever began this in the background had it ignored
    logger.min_level = logger.ERROR  # earlier versions are attacked too
    with suppress(KeyboardInterrupt), closing(gymnasium.make(env_id, programs=PROGRAMS, session=session).unwrapped) as env:
        assert isinstance(env, CompilerEnv)
        for seed in count():
            print(json.dumps(asdict(_play(env, seed))), flush=True)


def _play(env: CompilerEnv, seed: int) -> Played:
    began, rng = time.monotonic(), np.random.default_rng(seed)
    try:
        info, truncated = _episode(env, seed, rng)
        error = info.get("error")
    except SessionLost as why:
        error, truncated = str(why), True
    worker = getattr(env.session, "pid", None)
    return Played(began, time.monotonic(), error, truncated, *_held(os.getpid()), *_held(worker))


def _episode(env: CompilerEnv, seed: int, rng: np.random.Generator) -> tuple[dict[str, Any], bool]:
    """Any allowed choices, to the end."""
    draw = random(rng)
    observation, info = env.reset(seed=seed)
    terminated = truncated = False
    while not (terminated or truncated):
        observation, _, terminated, truncated, info = env.step(draw(observation))
    return info, truncated


def _held(pid: int | None) -> tuple[int, float]:
    """The descriptors and the memory of a process; nothing of one that has ended."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd")), resident_megabytes(pid)
    except OSError:
        return 0, 0.0


if __name__ == "__main__":
    main()
