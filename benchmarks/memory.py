# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the worker holds in memory."""

from collections.abc import Iterator
from contextlib import closing
from itertools import cycle, islice

from benchmarks.report import Figure, resident_megabytes
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.session import WorkerSession

INSTRUCTIONS, EPISODES = 200_000, 10_000


def figures() -> Iterator[Figure]:
    programs = list(_programs(INSTRUCTIONS))
    with closing(WorkerSession()) as session, closing(PosetRLEnv(programs=programs, actions=["stop"], reward="none", session=session)) as env:
        for program in programs:
            env.reset(options={"program": program})
        filled = resident_megabytes(session.pid)
        for program in islice(cycle(programs[:20]), EPISODES):
            env.reset(options={"program": program})
            env.step(0)
        after = resident_megabytes(session.pid)
    yield Figure(f"worker with {INSTRUCTIONS} instructions cached", filled, "MB", 300, note=f"{len(programs)} modules")
    yield Figure(f"growth over {EPISODES} episodes", after - filled, "MB", 5)


def _programs(instructions: int) -> Iterator[Program]:
    for module in corpora.modules("default/train"):
        if instructions < module.instructions:
            return
        instructions -= module.instructions
        yield resolve(module.uri)[0]
