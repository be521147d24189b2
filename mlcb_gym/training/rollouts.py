# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many episodes at once: scripts that say what to do, played on the sub-environments of a vector environment.

A script is a generator. It yields a ``Reset`` or an action, is sent back what the compiler answered, and may play as many episodes as it
likes; so a search reads as if it had a compiler of its own, while all compilers work at once.
"""

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from mlcb_gym.errors import MlcbError
from mlcb_gym.training.traces import Trace

Observation = dict[str, np.ndarray]


PARALLEL = 4
"""Compilers at work at once, where nobody says otherwise."""


class SplitEnv(Protocol):
    """An environment whose ``reset`` and ``step`` have two halves."""

    def send_reset(self, options: dict[str, Any] | None = None) -> None: ...
    def receive_reset(self) -> tuple[Observation, dict[str, Any]]: ...
    def send(self, action: Any) -> None: ...
    def receive(self) -> tuple[Observation, float, bool, bool, dict[str, Any]]: ...


@dataclass(frozen=True)
class Reset:
    """Begin an episode on this program."""

    program: Any


@dataclass(frozen=True)
class Answer:
    """What the compiler said."""

    observation: Observation
    info: dict[str, Any]
    ended: bool = False


Result = TypeVar("Result")
Script = Generator[Reset | int, Answer, Result]
Choose = Callable[[Observation], int | None]
"""From an observation to an action; None leaves the episode where it is."""


def name_of(program: Any) -> str:
    """The name of a program, whether given as a ``Program`` or as its name."""
    return str(getattr(program, "name", program))


def episode(program: Any, choose: Choose) -> Script[Trace]:
    """One episode. ``Trace.error`` says it if the program cannot be begun, or the compiler failed."""
    name = name_of(program)
    try:
        answer = yield Reset(program)
    except MlcbError as error:
        return Trace(name, (), (), math.nan, str(error))
    actions: list[int] = []
    answers = [answer]
    while not answer.ended and (action := choose(answer.observation)) is not None:
        answer = yield action
        actions.append(action)
        answers.append(answer)
    sizes = tuple(float(a.info["size"]) for a in answers if "size" in a.info)
    last = answer.info
    oz = float(last.get("size_oz", math.nan))
    return Trace(name, tuple(actions), sizes, oz, last.get("error"), last.get("text"), last.get("text_oz"))


def replay(program: Any, actions: Sequence[int]) -> Script[Trace]:
    """An episode of given actions. Those that the mask forbids at their turn are left out."""
    remaining = iter(actions)

    def choose(observation: Observation) -> int | None:
        return next((action for action in remaining if observation["action_mask"][action]), None)

    return episode(program, choose)


def play(envs: Sequence[SplitEnv], scripts: Iterable[Script[Result]]) -> Iterator[Result]:
    """Plays scripts, one per environment at a time, and yields their results as they finish."""
    waiting = iter(scripts)
    playing: dict[int, tuple[Script[Result], Reset | int]] = {}
    while True:
        for i in range(len(envs)):
            while i not in playing and (script := next(waiting, None)) is not None:
                yield from _advance(playing, i, script, None)
        if not playing:
            return
        turns = {i: (script, _send(envs[i], command)) for i, (script, command) in playing.items()}
        for i, (script, receive) in turns.items():
            del playing[i]
            yield from _advance(playing, i, script, _outcome(receive))


def _advance(
    playing: dict[int, tuple[Script[Result], Reset | int]], i: int, script: Script[Result], outcome: Answer | MlcbError | None
) -> Iterator[Result]:
    """Runs a script up to its next command; yields its result if it has none."""
    try:
        if isinstance(outcome, MlcbError):
            playing[i] = script, script.throw(outcome)
        else:
            playing[i] = script, script.send(outcome)  # type: ignore[arg-type]
    except StopIteration as stop:
        yield stop.value


def _send(env: SplitEnv, command: Reset | int) -> Callable[[], Answer]:
    """Gives a command to the compiler; returns how to wait for its answer."""
    if isinstance(command, Reset):
        try:
            env.send_reset({"program": command.program})
        except MlcbError as error:
            return _raising(error)
        return lambda: Answer(*env.receive_reset())
    env.send(command)

    def receive() -> Answer:
        observation, _, terminated, truncated, info = env.receive()
        return Answer(observation, info, terminated or truncated)

    return receive


def _raising(error: MlcbError) -> Callable[[], Answer]:
    def receive() -> Answer:
        raise error

    return receive


def _outcome(receive: Callable[[], Answer]) -> Answer | MlcbError:
    try:
        return receive()
    except MlcbError as error:
        return error
