# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many episodes at once: scripts played on the sub-environments of a vector environment.

A script is a generator. It yields a ``Reset`` or an action, is sent the compiler's answer, and may play any number of episodes. A search
reads as if it had a compiler of its own, while all compilers work at once.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from selectors import EVENT_READ, PollSelector
from typing import Any, Generic, TypeVar

import numpy as np

from mlcb_gym.envs.halves import HalvedEnv
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.errors import MlcbError, NoDecisions, SessionLost
from mlcb_gym.rollout.trace import Trace
from mlcb_gym.spec import MASK, acting_agent

PARALLEL = 4
"""The number of compilers at work at once, by default."""

ATTEMPTS = 3
"""How often an episode is played whose compiler is lost."""

LOOK_SECONDS = 1.0
"""The interval of checks on silent compilers: the deadline of one may have passed."""


@dataclass(frozen=True)
class Reset:
    """Begin an episode on this program."""

    program: Any


@dataclass(frozen=True)
class Delegate:
    """Delegate all decisions to the end to models in the compiler: the contents of an ONNX file for each agent."""

    models: Sequence[bytes]


@dataclass(frozen=True)
class Answer:
    """The compiler's answer to a command; ``lost`` where a fault of the machine ended the episode."""

    observation: Observation
    info: dict[str, Any]
    ended: bool = False
    reward: float = 0.0
    lost: bool = False


Result = TypeVar("Result")
Number = TypeVar("Number")
Command = Reset | Delegate | Action
Script = Generator[Command, Answer, Result]
Choose = Callable[[Observation], Action | None]
"""From an observation to an action; None leaves the episode where it is."""
Decide = Callable[[Observation], Delegate | Action | None]
"""Likewise, or to the models that decide from there on."""


def name_of(program: Any) -> str:
    """Return the name of a program, given as a ``Program`` or as its name."""
    return str(getattr(program, "name", program))


def episode(program: Any, choose: Decide) -> Script[Trace]:
    """Play one episode. ``Trace.error`` has the reason where the program cannot be begun, or the compiler failed. Where there is nothing to
    decide, the compiler's own heuristic decides: the ratio is 1."""
    name = name_of(program)
    try:
        answer = yield Reset(program)
    except NoDecisions:
        return Trace(name, (), (1.0,))
    except MlcbError as error:
        return Trace(name, (), (), str(error), lost=isinstance(error, SessionLost))
    actions: list[Delegate | Action] = []
    answers = [answer]
    while not answer.ended and (action := choose(answer.observation)) is not None:
        answer = yield action
        actions.append(action)
        answers.append(answer)
    ratios = tuple(a.info["ratio"] for a in answers if "ratio" in a.info)
    last = answer.info
    measured = {metric: value for metric, value in last.items() if isinstance(value, (int, float))}
    seconds = sum(a.info.get("llvm_seconds", 0.0) for a in answers) if "llvm_seconds" in last and "error" not in last else None
    taken = tuple(action for action in actions if not isinstance(action, Delegate))
    return Trace(name, taken, ratios, last.get("error"), measured, seconds, len(actions), answer.lost)


def persistent(attempt: Callable[[], Script[Trace]]) -> Script[Trace]:
    """Play an episode, and again where it was lost by a fault of the machine, ``ATTEMPTS`` times at most; each attempt begins anew."""
    for _ in range(ATTEMPTS):
        trace = yield from attempt()
        if not trace.lost:
            break
    return trace


def replay(program: Any, actions: Sequence[int]) -> Script[Trace]:
    """Play an episode of given actions, without those that the mask forbids at their turn."""
    remaining = iter(actions)

    def choose(observation: Observation) -> int | None:
        return next((action for action in remaining if action in np.flatnonzero(acting_agent(observation)[1][MASK])), None)

    return episode(program, choose)


def observed(program: Any, choose: Choose) -> Script[list[Observation]]:
    """Play an episode, and return the observations before its decisions."""
    seen: list[Observation] = []

    def record(observation: Observation) -> Action | None:
        seen.append(deepcopy(observation))
        return choose(observation)

    yield from episode(program, record)
    return seen


def numbered(number: Number, script: Script[Result]) -> Script[tuple[Number, Result]]:
    """Play a script, and return its number and its result: ``play`` yields results in any order."""
    return number, (yield from script)


def play(envs: Sequence[HalvedEnv], scripts: Iterable[Script[Result]]) -> Iterator[Result]:
    """Play scripts, one per environment at a time, and yield their results as they finish.

    Which script goes on next depends on which compiler is faster: what scripts share, a random generator above all, makes runs differ.
    """
    waiting = iter(scripts)
    lanes = [_Lane(env, waiting) for env in envs]
    ready = lanes
    while ready:
        for lane in ready:
            yield from lane.advance()
        ready = _wait([lane for lane in lanes if lane.script is not None])


def play_in_order(envs: Sequence[HalvedEnv], scripts: Iterable[Script[Result]]) -> list[Result]:
    """Return the results of ``play`` in the order of the scripts, which does not depend on the compilers' speed."""
    results = dict(play(envs, (numbered(number, script) for number, script in enumerate(scripts))))
    return [results[number] for number in sorted(results)]


class _Lane(Generic[Result]):
    """One environment, and the script that waits for its compiler, if any.

    Args:
        scripts: where the next script comes from, for all lanes.
    """

    def __init__(self, env: HalvedEnv, scripts: Iterator[Script[Result]]) -> None:
        self.env, self._scripts = env, scripts
        self.script: Script[Result] | None = None

    def ready(self) -> bool:
        """Whether there is an answer, or the reason why there is none."""
        return self._refused is not None or self.env.ready()

    def advance(self) -> Iterator[Result]:
        """Run the script up to its next command, which is sent; yield the result of a script that has ended, and go on with the next."""
        outcome = None
        if self.script is None:
            self.script = next(self._scripts, None)
        else:
            outcome = self._outcome()
        while self.script is not None:
            try:
                return self._send(_resume(self.script, outcome))
            except StopIteration as stop:
                yield stop.value
            self.script, outcome = next(self._scripts, None), None

    def _send(self, command: Command) -> None:
        """Gives a command to the compiler."""
        self._resetting, self._refused = isinstance(command, Reset), None
        try:
            if isinstance(command, Reset):
                self.env.send_reset({"program": command.program})
            elif isinstance(command, Delegate):
                self.env.send_models(command.models)
            else:
                self.env.send(command)
        except MlcbError as error:
            self._refused = error

    def _outcome(self) -> Answer | MlcbError:
        """Return the compiler's answer to the command, or its error."""
        if self._refused is not None:
            return self._refused
        try:
            if self._resetting:
                return Answer(*self.env.receive_reset())
            observation, reward, terminated, truncated, info = self.env.receive()
        except MlcbError as error:
            return error
        return Answer(observation, info, terminated or truncated, reward, truncated)


def _resume(script: Script[Result], outcome: Answer | MlcbError | None) -> Command:
    """Return the next command of a script, which gets the outcome of its last one."""
    if isinstance(outcome, MlcbError):
        return script.throw(outcome)
    return script.send(outcome)  # type: ignore[arg-type]  # None is what a generator begins with


def _wait(lanes: list[_Lane[Result]]) -> list[_Lane[Result]]:
    """Wait for the first compilers to answer, and return the lanes that go on."""
    while lanes:
        if ready := [lane for lane in lanes if lane.ready()]:
            return ready
        with PollSelector() as selector:
            for lane in lanes:
                selector.register(lane.env, EVENT_READ)
            selector.select(LOOK_SECONDS)
    return lanes
