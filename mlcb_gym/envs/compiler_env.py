# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The environment class of all tasks: decisions of a compiler as a Gymnasium environment."""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces

from mlcb_gym import _native
from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.envs.actions import actions_in
from mlcb_gym.envs.declaration import TaskDeclaration
from mlcb_gym.envs.driver import Driver
from mlcb_gym.envs.halves import HalvedEnv, Info, Step
from mlcb_gym.envs.objective import TIMES, Metrics, Objective, ratio_of
from mlcb_gym.envs.options import CompilerOptions, Options
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.envs.sampling import sampler
from mlcb_gym.errors import CompilerError, MlcbError, ProgramError, SessionLost, TaskError
from mlcb_gym.session import Session, Target, WorkerSession
from mlcb_gym.spec import MASK, Agent

FAILURE_RETURN = -1.0
UNCHANGED = 1.0
"""The ratio by which programs are drawn of one that failed, or left nothing to decide."""


class CompilerEnv(TaskDeclaration, HalvedEnv):
    """A compiler as a Gymnasium environment; the class of a task adds its reward, its arguments and its docstring.

    An action that is illegal, or that the compiler does not survive, terminates the episode with the reward that makes its return
    ``FAILURE_RETURN``. A fault of the machine truncates the episode with a reward of 0. ``info["error"]`` has the reason of either.

    Args:
        programs: programs that episodes are drawn from: paths, folders or names of corpora (see ``mlcb_gym.corpus.programs``).
        parameters: the parameters that the task is bound with.
        objective: the reward.
        dense: measure after every step; otherwise at the end alone: the return is the same, the reward of every other step is 0.
        new_session: makes the compiler of an environment that is given none.
        wrap: from the compiler to the session that episodes are begun in, as ``FunctionSession``.
        options: the arguments of every environment, see ``Options``.

    Raises:
        ProgramError: a program cannot be found or compiled.
        TaskError: the task cannot be bound with these parameters, or has no such action or metric.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 1}  # type: ignore[misc]

    observation_space: spaces.Dict
    num_actions: int
    """The number of choices; 0 where the agent gives a value."""
    metrics: tuple[str, ...]
    """The names of the metrics that are measured."""
    target: Target
    """The machine that code is generated for."""
    objective: tuple[str, str] | None
    """The metric of ``ratio`` and its baseline, what the compiler's own heuristic reaches in it; None where nothing is measured."""
    observation: Observation
    """The last observation."""
    agent: Agent
    """The agent that acts; after the end of an episode, the one that the last observation is of."""
    _drawn: int | None
    """The index of the program, where it was drawn."""
    measured: Metrics
    """The metrics measured last; empty before the end of an episode that is not dense."""
    has_begun: bool = False
    """Whether there was an episode: then there is an observation."""

    def __init__(
        self,
        *,
        programs: ProgramsLike,
        parameters: Mapping[str, Any],
        objective: Objective,
        dense: bool = True,
        new_session: Callable[[], Session] = WorkerSession,
        wrap: Callable[[Session], Session] = lambda session: session,
        **options: Unpack[CompilerOptions],
    ) -> None:
        chosen = Options.of(type(self), options)
        self.render_mode, self.programs = chosen.render_mode, resolve(programs)
        self._new_sampler = partial(sampler, chosen.sampling, self.programs)
        self._sampler, self._drawn = self._new_sampler(), None
        self._objective, self.dense, self.objective = objective, dense, objective.ratio
        request = chosen.request(self.programs[0].bitcode, objective.wanted(dense=dense), dense=dense)
        self.metrics, self.target = tuple(request.metrics), request.target
        self.deterministic = TIMES.isdisjoint(request.metrics)
        self.session, owned = chosen.open(new_session)
        self._driver = Driver(self.task, parameters, request, session=self.session, owned=owned, wrap=wrap, check=chosen.check)
        self.timing, self.task_spec, self.takes_models = self._driver.timing, self._driver.spec, self._driver.takes_models
        self.agent = self.task_spec.agents[0]
        self.observation_space, self.action_space = self.task_spec.observation_space, self.task_spec.action_space
        self._actions = actions_in(self.action_space)
        self.num_actions = self._actions.number
        self._refused: str | None = None
        self.measured = {}

    @property
    def is_running(self) -> bool:
        """Whether an episode runs."""
        return self._driver.is_running

    @property
    def action_mask(self) -> np.ndarray | None:
        """1 for every action that is allowed, ``[num_actions]`` int8; None where every action is.

        Raises:
            gymnasium.error.ResetNeeded: there was no episode yet.
        """
        self._check_begun("action_mask")
        return self.task_spec.action_mask(self.agent, self.observation)

    def action_masks(self) -> np.ndarray:
        """Return ``action_mask`` as sb3-contrib asks for it: ``[num_actions]`` bool, all true where every action is allowed.

        Raises:
            gymnasium.error.ResetNeeded: there was no episode yet.
        """
        mask = self.action_mask
        return np.ones(self.num_actions, bool) if mask is None else mask.astype(bool)

    @property
    def ratio(self) -> float | None:
        """The last value of the objective's metric, divided by its baseline: below 1 is better. None where they were not measured."""
        return ratio_of(self.objective, self.measured)

    def advice(self, action: Action) -> int | float:
        """Return the advice that the compiler gets for an action."""
        return self._actions.advice(action)

    def action(self, advice: int | float) -> Action:
        return self._actions.action(advice)

    def default_action(self, observation: Observation) -> Action:
        """Return the action that the compiler's own heuristic would take.

        Raises:
            TaskError: the observation does not hold it, or it is no action.
        """
        if self.heuristic is None or self.heuristic not in observation:
            raise TaskError(f"{self.task}: no observation tells what LLVM's own heuristic would do")
        return self.action(observation[self.heuristic].item())

    def check_whole(self, user: str) -> None:
        """Check that an episode is a whole program, for a user that plays each program once.

        Raises:
            TaskError: an episode is one function of it.
        """
        if self._driver.by_function:
            raise TaskError(f'{self.task}: episode="function": {user} takes whole programs, expected episode="module"')

    def reseed(self, seed: int | None) -> None:
        """Seeds the draw of programs, as ``reset(seed=...)`` does; the next episode draws one."""
        super().reseed(seed)
        if seed is not None:
            self._driver.drop_successor()
            self._sampler = self._new_sampler()

    def send_reset(self, options: dict[str, Any] | None = None) -> None:
        """The first half of ``reset``: starts an episode, or goes on with the next function of the program where an episode is a function."""
        asked = options or {}
        if unknown := sorted(set(asked) - {"program"}):
            raise TaskError(f"reset: options has {', '.join(unknown)}, expected program alone, a path or the name of a program of a corpus")
        given = asked.get("program")
        self._is_given, self._refused = given is not None, None
        if not asked and self._driver.resume():
            return
        self._drawn = None
        self._driver.begin(self._draw() if given is None else _only(given))

    def receive_reset(self) -> tuple[Observation, Info]:
        """The second half of ``reset``: waits for the first observation. A drawn program that has none is drawn again."""
        message = self._driver.first(None if self._is_given else self._redraw)
        self.program, self._steps, self._return = self._driver.program, 0, 0.0
        self._observe(message)
        return self.observation, self._info()

    def send(self, action: Action) -> None:
        self._check_running("step called before reset, or after the end of the episode")
        self._refused = None
        if self._actions.allows(action, self.action_mask):
            self._driver.advise(self.advice(action))
        else:
            self._refused = f"illegal action {action!r}: {self.agent.mask or self.action_space} does not allow it"

    def send_models(self, models: Sequence[bytes]) -> None:
        self._check_running("delegate called before reset, or after the end of the episode")
        self._refused = None
        self._driver.delegate(models)

    def receive(self) -> Step:
        self._steps += 1
        self.timing.steps += 1
        if self._refused is not None:
            return self._end(FAILURE_RETURN - self._return, error=self._refused)
        before = self.measured
        try:
            message = self._driver.receive()
        except CompilerError as error:
            return self._end(FAILURE_RETURN - self._return, error=str(error))
        except SessionLost as error:
            return self._end(0.0, truncated=True, error=str(error))
        self._observe(message)
        ended = message.kind == "episode_end"
        reward = self._objective.earned(before, self.measured, dense=self.dense, step=self._steps, ended=ended)
        if ended:
            return self._end(reward)
        self._return += reward
        return self.observation, reward, False, False, self._info()

    def ready(self) -> bool:
        return self._refused is not None or self._driver.ready()

    def fileno(self) -> int:
        return self._driver.fileno()

    def fork(self) -> "CompilerEnv":
        """Return a second environment at the same decision of the same episode, for search. Both go on independently; close both.

        Raises:
            gymnasium.error.ResetNeeded: no episode is running.
            SessionLost: the compiler is gone.
        """
        self._check_running("fork called outside an episode")
        clone = copy.copy(self)
        clone._np_random = copy.deepcopy(self._np_random)
        clone._driver = self._driver.fork()
        clone.timing = clone._driver.timing
        return clone

    def render(self) -> str | None:  # type: ignore[override]
        """Return one line: the program, the steps taken, the return so far, and the metrics measured last.

        Raises:
            gymnasium.error.ResetNeeded: there was no episode yet.
        """
        if self.render_mode is None:
            return None
        self._check_begun("render")
        measured = " ".join(f"{name}={value:g}" for name, value in self.measured.items())
        return f"{self.program.name}: step {self._steps}, return {self._return:.4f}, {measured}"

    def close(self) -> None:
        """Ends the episode and, unless it was given, the compiler."""
        self._driver.close()

    def _draw(self) -> Program:
        self._drawn = index = self._sampler.draw(self.np_random)
        return self.programs[index]

    def _redraw(self, error: MlcbError) -> Program:
        """Draw another program than one that came to this error."""
        if not isinstance(error, SessionLost):
            self._note(UNCHANGED)
        return self._draw()

    def _note(self, ratio: float) -> None:
        """Note the ratio that a drawn program came to."""
        if self._drawn is not None:
            self._sampler.note(self._drawn, ratio)

    def _check_running(self, error: str) -> None:
        if not self.is_running:
            raise gymnasium.error.ResetNeeded(error)

    def _check_begun(self, call: str) -> None:
        if not self.has_begun:
            raise gymnasium.error.ResetNeeded(f"{call} called before the first reset")

    def _observe(self, message: _native.Message) -> None:
        self.agent = self.task_spec.agents[message.agent]
        self.observation, self.measured = self.task_spec.observation(message.agent, message.tensors), message.metrics
        self.has_begun = True

    def _end(self, reward: float, *, truncated: bool = False, error: str | None = None) -> Step:
        self._driver.leave()
        self._return += reward
        ratio = self.ratio if error is None else UNCHANGED
        if ratio is not None and not truncated:
            self._note(ratio)
        info = self._info() if error is None else self._info() | {"error": error}
        return self.observation, reward, not truncated, truncated, info

    def _info(self) -> Info:
        allowed, ratio = self.action_mask, self.ratio
        mask = {} if allowed is None else {MASK: allowed}
        return {"program": self.program.name, **mask, **self.measured, **({} if ratio is None else {"ratio": ratio})}


def _only(uri: ProgramsLike) -> Program:
    """The one program that ``reset`` was given."""
    programs = resolve(uri)
    if len(programs) != 1:
        raise ProgramError(f"{uri}: {len(programs)} programs, expected one")
    return programs[0]
