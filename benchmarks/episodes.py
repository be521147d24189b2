# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes of LLVM's own advisors: how many a second, in the worker and in an untouched compiler started for each, and what of one is LLVM's."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import Figure
from benchmarks.step import INSTRUCTIONS, programs_of_about
from mlcb_gym.agents.heuristic import Heuristic
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.errors import NoDecisions
from mlcb_gym.rollout.network_policy import InCompiler
from mlcb_gym.rollout.play import Delegate
from mlcb_gym.session import WorkerSession

EPISODES, SMALL, PROGRAMS, SEED = 10, 1000, 12, 1
WARM_UP = 2
"""Episodes after which a worker knows a program, and keeps a snapshot of it."""

Make = Callable[..., CompilerEnv]
Answer = Callable[[CompilerEnv, Observation], Action]


def heuristic(env: CompilerEnv, observation: Observation) -> Action:
    """LLVM's own answer."""
    return env.default_action(observation)


def per_second(make: Make, answer: Answer = heuristic) -> Iterator[Figure]:
    """In turns on the same modules, nothing measured. An untouched compiler may tell less, so the answers are for the caller to choose."""
    with ExitStack() as open_until_done:
        anew = open_until_done.enter_context(closing(WorkerSession(snapshots=0)))
        sessions: dict[str, dict[str, Any]] = {"worker": {}, "worker, without snapshots": {"session": anew}, "stock": {"compiler": "stock"}}
        envs = {
            name: open_until_done.enter_context(closing(make(programs=_small(), reward="none", **arguments))) for name, arguments in sessions.items()
        }
        programs = list(filter(partial(begins, envs["worker"]), envs["worker"].programs))[:PROGRAMS]
        players: dict[str, Callable[[Program], object]] = {name: partial(play, env, answer=answer) for name, env in envs.items()}
        rates = _rates(players | {"worker, left to a model": _left_to_model(envs["worker"])}, programs)
    note = f"{len(programs)} modules under {SMALL} instructions, nothing measured, {EPISODES} episodes of each"
    tool = "a stock compiler for each"
    yield Figure(f"episodes per second, worker / {tool}", rates["worker"] / rates["stock"], "x", 3, 8, higher=True, note=note)
    yield Figure(f"the same without snapshots / {tool}", rates["worker, without snapshots"] / rates["stock"], "x", higher=True)
    for name, rate in rates.items():
        yield Figure(f"episodes per second, {name}", rate, "1/s")


def outside_llvm(make: Make) -> Iterator[Figure]:
    """An episode's share that is not LLVM's work. Without snapshots: LLVM's work on a state that was kept is not done again."""
    shares, seconds = [], []
    with (
        closing(WorkerSession(snapshots=0)) as session,
        closing(make(programs=programs_of_about(INSTRUCTIONS), reward="none", metrics=("llvm_seconds",), session=session)) as env,
    ):
        for program in filter(partial(begins, env), env.programs):
            for _ in range(EPISODES):
                started = time.perf_counter()
                worked = play(env, program)
                seconds.append(time.perf_counter() - started)
                shares.append(1 - worked / seconds[-1])
    note = f"{np.median(seconds) * 1e3:.0f} ms, {INSTRUCTIONS} instructions, nothing measured"
    yield Figure("of an episode outside LLVM, median", float(np.median(shares)), "of 1", 0.15, 0.05, note=note)


def play(env: CompilerEnv, program: Program, answer: Answer = heuristic) -> float:
    """An episode; what LLVM worked, where that is told."""
    observation, info = env.reset(options={"program": program})
    worked, ended = float(info.get("llvm_seconds", 0.0)), False
    while not ended:
        observation, _, terminated, truncated, info = env.step(answer(env, observation))
        worked += float(info.get("llvm_seconds", 0.0))
        ended = terminated or truncated
    return worked


def _left_to_model(env: CompilerEnv) -> Callable[[Program], object]:
    """Plays an episode whose decisions a model in the compiler takes: LLVM's own, as a network."""
    assert env.heuristic is not None
    network = Heuristic(env.heuristic, env.num_actions)
    left = InCompiler(network, env)(network)({})
    assert isinstance(left, Delegate)

    def play_left(program: Program) -> None:
        env.reset(options={"program": program})
        env.delegate(left.models)

    return play_left


def _rates(players: Mapping[str, Callable[[Program], object]], programs: Sequence[Program]) -> dict[str, float]:
    """Of the median episode of each program, for this machine has other work."""
    seconds = dict.fromkeys(players, 0.0)
    for program in programs:
        rounds = [[_seconds(player, program) for player in players.values()] for _ in range(WARM_UP + EPISODES)]
        for name, median in zip(players, np.median(rounds[WARM_UP:], axis=0), strict=True):
            seconds[name] += float(median)
    return {name: len(programs) / taken for name, taken in seconds.items()}


def _seconds(player: Callable[[Program], object], program: Program) -> float:
    started = time.perf_counter()
    player(program)
    return time.perf_counter() - started


def _small() -> list[Program]:
    modules = [module for module in corpora.manifest("default") if module.instructions < SMALL]
    drawn = np.random.default_rng(SEED).permutation(len(modules))
    return [resolve(modules[i].uri)[0] for i in drawn[: 3 * PROGRAMS]]


def begins(env: CompilerEnv, program: Program) -> bool:
    """Whether it leaves something to decide."""
    try:
        env.reset(options={"program": program})
    except NoDecisions:
        return False
    return True
