# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the sandbox costs an episode of `Inliner-v0` and the start of a worker, in turns with those in none; the null is a second one in none."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial

import numpy as np

from benchmarks.episodes import begins, play
from benchmarks.report import Figure
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.session import WorkerSession
from mlcb_gym.session.sandbox import refusal

PROGRAMS, ROUNDS, WARM, STARTS, SEED = 12, 60, 3, 30, 1
TARGETS = (1.05, 1.02)
KINDS = {"the sandbox": "partial", "none": "none", "none again, the null": "none"}


def figures() -> Iterator[Figure]:
    with ExitStack() as open_until_done:
        sessions = {kind: open_until_done.enter_context(closing(WorkerSession(snapshots=0, sandbox=sandbox))) for kind, sandbox in KINDS.items()}
        envs = {kind: InlinerEnv(programs="embedded/train", reward="none", session=session) for kind, session in sessions.items()}
        programs = [program for program in resolve("embedded/train") if begins(envs["none"], program)][:PROGRAMS]
        ratios = [_ratios({kind: partial(play, env, program) for kind, env in envs.items()}, ROUNDS) for program in programs]
    note = f"median of {len(programs)} embedded programs, {ROUNDS} rounds of each, no snapshots; {refusal() or 'a whole one'}"
    for kind in ratios[0]:
        must, aim = TARGETS if kind == "the sandbox" else (None, None)
        yield Figure(f"an episode in {kind} / none", float(np.median([each[kind] for each in ratios])), "x", must, aim, note=note)
    starts = _ratios({kind: partial(_start, sandbox) for kind, sandbox in KINDS.items()}, STARTS)
    for kind, value in starts.items():
        yield Figure(f"the start of a worker in {kind} / none", value, "x", note=f"median of {STARTS} rounds")


def _start(sandbox: str) -> None:
    with closing(WorkerSession(sandbox=sandbox)) as session:
        session.configure("inliner", {})


def _ratios(players: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Medians, over rounds, of each one's time by that of "none"; every round begins with another."""
    rng, names = np.random.default_rng(SEED), list(players)
    seconds = []
    for _ in range(WARM + rounds):
        taken = {names[i]: _seconds(players[names[i]]) for i in rng.permutation(len(names))}
        seconds.append([taken[name] for name in names])
    measured = np.array(seconds[WARM:])
    medians = np.median(measured / measured[:, [names.index("none")]], axis=0)
    return {name: float(median) for name, median in zip(names, medians, strict=True) if name != "none"}


def _seconds(player: Callable[[], object]) -> float:
    started = time.perf_counter()
    player()
    return time.perf_counter() - started
