# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one environment class: an episode of a compiler that asks what to do next."""

import copy
import operator
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import indent
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from mlcb_gym import _native
from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.envs.record import Action, Observation, TaskRecord
from mlcb_gym.errors import CompilerError, NoDecisions, ProgramError, SessionLost, TaskError
from mlcb_gym.session import Episode, EpisodeRequest, Limits, Session, Target, WorkerSession, open_session
from mlcb_gym.spec import Agent, TaskSpec, bind, table

Metrics = Mapping[str, float]
Info = dict[str, Any]
Step = tuple[Observation, float, bool, bool, Info]
FAILURE_RETURN = -1.0
MAX_REDRAWS = 20


@dataclass
class Timing:
    """Where an environment's time went, in seconds, and what the worker's cache of sizes had answered, to all its environments, when the last
    episode began. Never part of ``info``, which is equal for equal runs."""

    steps: int = 0
    episodes: int = 0
    redrawn: int = 0
    waiting: float = 0.0
    cache: Mapping[str, int] = field(default_factory=dict)


class CompilerEnv(gymnasium.Env[Observation, Action], ABC):
    """A compiler as a Gymnasium environment; a task's class states its reward and its docstring.

    A step has two halves, ``send`` and ``receive``, and so has a reset, so that N compilers can work at once behind one Python process.

    An illegal action, or one that the compiler does not survive, ends the episode (terminated) with the reward that makes its return
    ``FAILURE_RETURN``: it must not pay. A fault of the machine truncates the episode with no reward. Both say why in ``info["error"]``.

    Args:
        programs: what episodes are drawn from: paths, folders or corpus names (see ``mlcb_gym.corpus.programs``).
        parameters: what the task is bound with.
        metrics: names of what is measured.
        dense: measure after every step; otherwise only at the end: the return is the same, the reward of every other step is 0.
        forbidden: actions that are never allowed.
        target: the machine that code is generated for.
        limits: what one episode may use.
        verify: run LLVM's IR verifier after every action.
        session: the compiler to use, or its URI (see ``open_session``); by default an own worker. One that is not given is ended by ``close``.
        render_mode: ``"ansi"`` or None.

    Raises:
        ProgramError: a program cannot be found or compiled.
        TaskError: the task cannot be bound with these parameters, or has no such action to bar.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 1}  # type: ignore[misc]
    task: ClassVar[str]
    record: ClassVar[TaskRecord] = TaskRecord()
    """What the tools know of the task beside its environment."""
    parameters: ClassVar[tuple[str, ...]]
    """The arguments that the task is bound with: an environment made with those of a policy is the one that it was trained in."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Writes the table of observations, which only the declaration knows, into the docstring."""
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and "{observations}" in cls.__doc__:
            cls.__doc__ = cls.__doc__.replace("{observations}", indent(table(bind(cls.task, {})), "    ").strip())

    def __init__(
        self,
        *,
        programs: ProgramsLike,
        parameters: Mapping[str, Any],
        metrics: Sequence[str],
        dense: bool = True,
        forbidden: Sequence[int] = (),
        target: Target = Target(),
        limits: Limits = Limits(),
        verify: bool = False,
        session: Session | str | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render_mode
        self.timing = Timing()
        self.programs = resolve(programs)
        self._dense = dense
        self._request = EpisodeRequest(
            program=self.programs[0].bitcode,
            metrics=tuple(metrics),
            measure="always" if dense else "end",
            forbidden=tuple(forbidden),
            verify=verify,
            target=target,
            limits=limits,
        )
        self._episode: Episode | None = None
        self._refused: str | None = None
        self._owns_session = session is None or isinstance(session, str)
        self.session: Session = self._session_of(session)
        try:
            self.task_spec: TaskSpec = self.session.configure(self.task, parameters)
            self._agent = self.task_spec.agents[0]
            self.observation_space = self.task_spec.observation_space
            self.action_space = self.task_spec.action_space
            _check_forbidden(forbidden, self.num_actions)
        except BaseException:
            self.close()
            raise

    _registered: EnvSpec | None = None

    @property
    def deterministic(self) -> bool:
        """Whether equal seeds and actions give equal rewards and ``info``; where not, ``spec.nondeterministic`` says so."""
        return True

    @property
    def spec(self) -> EnvSpec | None:
        """As which environment it was made; None where ``gymnasium.make`` did not make it."""
        return self._registered

    @spec.setter
    def spec(self, registered: EnvSpec | None) -> None:
        self._registered = registered and replace(registered, nondeterministic=not self.deterministic)

    heuristic: ClassVar[str | None] = None
    """The tensor that says what the compiler's own heuristic would do, where there is one."""

    @property
    @abstractmethod
    def objective(self) -> tuple[str, str] | None:
        """The metric that an episode is objective by, and the one that tells what the compiler's own heuristic comes to in it. Where both are
        measured, ``info["ratio"]`` is the one to the other, below 1 where the policy does better. None where nothing is measured."""

    @abstractmethod
    def reward(self, before: Metrics, after: Metrics) -> float:
        """The reward of a step, from what was measured before it and after it."""

    @abstractmethod
    def measured_at_start(self, final: Metrics) -> Metrics:
        """What ``reward`` needs to know of the first state, told by the metrics of the last: what the steps of an episode that is not dense
        earned together is ``reward(measured_at_start(final), final)``."""

    def _session_of(self, given: Session | str | None) -> Session:
        if given is None:
            return self._new_session()
        return open_session(given) if isinstance(given, str) else given

    def _new_session(self) -> Session:
        """The compiler of an environment that is given none."""
        return WorkerSession()

    @property
    def num_actions(self) -> int:
        """How many choices there are; 0 where a value is asked for."""
        return int(self.action_space.n) if isinstance(self.action_space, spaces.Discrete) else 0

    def advice(self, action: Action) -> int | float:
        """What the compiler is told where an action is taken."""
        return int(action) if self.num_actions else float(np.asarray(action).item())

    def action(self, advice: int | float) -> Action:
        """The action that tells the compiler this: what a policy decides that was exported."""
        return int(advice) if self.num_actions else np.array([advice], np.float32)

    def default_action(self, observation: Observation) -> Action:
        """What LLVM's own heuristic decides there, where the task's class knows: the baseline, and what cloning starts from.

        Raises:
            TaskError: it does not, or it is no action here.
        """
        if self.heuristic is None or observation[self.heuristic].size == 0:
            raise TaskError(f"{self.task}: no observation tells what LLVM's own heuristic would do")
        return self.action(observation[self.heuristic].item())

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Starts an episode on ``options["program"]``, or on a program drawn uniformly from ``programs``.

        Raises:
            ProgramError: the program given cannot be found or compiled.
            CompilerError: the compiler cannot read the program.
            NoDecisions: the program given leaves nothing to decide.
            SessionLost: the compiler cannot be started.
        """
        self.reseed(seed)
        self.send_reset(options)
        return self.receive_reset()

    def reseed(self, seed: int | None) -> None:
        """Seeds the draw of programs, as ``reset(seed=...)`` does."""
        super().reset(seed=seed)

    def send_reset(self, options: dict[str, Any] | None = None) -> None:
        """The first half of ``reset``: tells the compiler to begin."""
        self._given = _only(options["program"]) if options and "program" in options else None
        self._begin(self._given or self._draw())

    def receive_reset(self) -> tuple[Observation, Info]:
        """The second half of ``reset``: waits for the first observation. A drawn program that has none is drawn again."""
        redraws_left, restarts_left = MAX_REDRAWS, 1
        while True:
            try:
                return self._first_observation()
            except (NoDecisions, CompilerError):
                redraws_left -= 1
                if self._given is not None or redraws_left < 0:
                    raise
            except SessionLost:
                restarts_left -= 1
                if self._given is not None or restarts_left < 0:
                    raise
            self.timing.redrawn += 1
            self._begin(self._draw())

    def step(self, action: Action) -> Step:
        """Takes an action and waits for the compiler's next question."""
        self.send(action)
        return self.receive()

    def send(self, action: Action) -> None:
        """The first half of ``step``: gives the compiler its advice and returns at once."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("step called before reset, or after the end of the episode")
        self._refused = None if self._allowed(action) else f"illegal action {action!r}: {self._rule} does not allow it"
        if self._refused is None:
            self._episode.advise(self.advice(action))

    @property
    def takes_models(self) -> bool:
        """Whether an episode can be left to models."""
        return self.session.takes_models

    def delegate(self, models: Sequence[bytes]) -> Step:
        """Lets models in the compiler take this decision and all that would follow, and waits for the end of the episode: nothing is sent to and
        fro for each of them. The rewards of their steps come as one.

        Args:
            models: the contents of an ONNX file for each agent, as a policy folder holds them.

        Raises:
            TaskError: the compiler takes no models, as a stock one; or the episode is of a function.
        """
        self.send_models(models)
        return self.receive()

    def send_models(self, models: Sequence[bytes]) -> None:
        """The first half of ``delegate``: tells the compiler and returns at once; the second is ``receive``."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("delegate called before reset, or after the end of the episode")
        self._refused = None
        self._episode.delegate(models)
        self._request = replace(self._request, models=True)  # what was left to models once will be again

    def receive(self) -> Step:
        """The second half of ``step``: waits for the compiler's next question, or for the end of the episode."""
        self._steps += 1
        self.timing.steps += 1
        if self._refused is not None:
            return self._fail(self._refused)
        before = self._metrics
        try:
            message = self._receive()
        except CompilerError as error:
            return self._fail(str(error))
        except SessionLost as error:
            return self._end(0.0, truncated=True, error=str(error))
        self._observe(message)
        ended = self._is_end(message)
        reward = self._earned(before, ended)
        if ended:
            return self._end(reward, truncated=False)
        self._return += reward
        return self._observation, reward, False, False, self._info()

    def ready(self) -> bool:
        """Whether the second half of a step or a reset returns at once; while it does not, what the compiler says makes ``fileno`` readable."""
        return self._refused is not None or self._episode is None or self._episode.ready()

    def fileno(self) -> int:
        """What to wait on until ``ready``, as a selector does; -1 outside an episode."""
        return -1 if self._episode is None else self._episode.fileno()

    def fork(self) -> "CompilerEnv":
        """A second environment at the same decision of the same episode, for search. Both go on independently; close both.

        Raises:
            gymnasium.error.ResetNeeded: no episode is running.
            SessionLost: the compiler is gone.
        """
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("fork called outside an episode")
        clone = copy.copy(self)
        clone._owns_session = False
        clone.timing = Timing()
        clone._np_random = copy.deepcopy(self._np_random)
        clone._episode = self._episode.fork()
        clone._receive()
        return clone

    @property
    def observation(self) -> Observation:
        """The last observation."""
        return self._observation

    @property
    def agent(self) -> Agent:
        """Who is asked; after the end of an episode, whose observation is the last."""
        return self._agent

    @property
    def action_mask(self) -> np.ndarray | None:
        """1 for every action that is allowed, ``[num_actions]`` int8; None where any is."""
        if self._agent.mask is None:
            return None
        if len(self.task_spec.agents) == 1:
            return self._observation[self._agent.mask]
        own = self._observation[self._agent.name][self._agent.mask]
        return np.pad(own, (0, self.num_actions - len(own)))

    @property
    def measured(self) -> Metrics:
        """What was measured last; empty before the end of an episode that is not dense."""
        return self._metrics

    @property
    def ratio(self) -> float | None:
        """What was measured last to what the compiler's own heuristic comes to: below 1 is better. None where they were not measured."""
        if self.objective is None or not set(self.objective) <= set(self._metrics):
            return None
        own, heuristic = (self._metrics[name] for name in self.objective)
        return float(own / heuristic) if heuristic else 1.0 + own

    def render(self) -> str | None:  # type: ignore[override]
        """One line: the program, the steps taken, the return so far, and what was measured last."""
        if self.render_mode is None:
            return None
        measured = " ".join(f"{name}={value:g}" for name, value in self._metrics.items())
        return f"{self.program.name}: step {self._steps}, return {self._return:.4f}, {measured}"

    def close(self) -> None:
        """Ends the episode and, unless the compiler was given, the compiler."""
        self._leave_episode()
        if self._owns_session:
            self.session.close()

    def _draw(self) -> Program:
        return self.programs[int(self.np_random.integers(len(self.programs)))]

    def _begin(self, program: Program) -> None:
        self._leave_episode()
        self.program = program
        self._refused = None
        self._episode = self.session.begin(self.task_spec, replace(self._request, program=program.bitcode))

    def _first_observation(self) -> tuple[Observation, Info]:
        try:
            message = self._receive()
        except CompilerError as error:
            raise CompilerError(f"{self.program.name}: {error}") from error
        if message.kind == "episode_end":
            self._leave_episode()
            raise NoDecisions(f"{self.program.name}: the compiler asks for no decision")
        self.timing.episodes += 1
        self.timing.cache = self._episode.cache if self._episode is not None else {}
        self._steps, self._return = 0, 0.0
        self._observe(message)
        return self._observation, self._info()

    def _receive(self) -> _native.Message:
        assert self._episode is not None
        started = time.perf_counter()
        try:
            return self._episode.receive()
        except (CompilerError, SessionLost):
            self._leave_episode()
            raise
        finally:
            self.timing.waiting += time.perf_counter() - started

    def _observe(self, message: _native.Message) -> None:
        self._agent = self.task_spec.agents[message.agent]
        self._observation: Observation = self.task_spec.observation(message.agent, message.tensors)
        self._metrics: Metrics = message.metrics

    def _is_end(self, message: _native.Message) -> bool:
        return message.kind == "episode_end"

    def _earned(self, before: Metrics, ended: bool) -> float:
        if self._dense:
            return float(self.reward(before, self._metrics))
        return float(self.reward(self.measured_at_start(self._metrics), self._metrics)) if ended else 0.0

    @property
    def _rule(self) -> str:
        """What says which actions are allowed."""
        return self._agent.mask or str(self.action_space)

    def _allowed(self, action: Action) -> bool:
        if self._agent.mask is None:
            return isinstance(action, np.ndarray) and self.action_space.contains(action)
        try:
            index = operator.index(action)
        except TypeError:
            return False
        mask = self.action_mask
        return mask is not None and 0 <= index < len(mask) and bool(mask[index])

    def _fail(self, error: str) -> Step:
        return self._end(FAILURE_RETURN - self._return, truncated=False, error=error)

    def _end(self, reward: float, *, truncated: bool, error: str | None = None) -> Step:
        self._leave_episode()
        self._return += reward
        info = self._info() if error is None else self._info() | {"error": error}
        return self._observation, reward, not truncated, truncated, info

    def _leave_episode(self) -> None:
        if self._episode is not None:
            self._episode.close()
            self._episode = None

    def _info(self) -> Info:
        allowed = self.action_mask
        mask = {} if allowed is None else {"action_mask": allowed}
        ratio = {} if self.ratio is None else {"ratio": self.ratio}
        return {"program": self.program.name, **mask, **self._metrics, **ratio}


def _check_forbidden(forbidden: Sequence[int], actions: int) -> None:
    for index in forbidden:
        if not 0 <= index < actions:
            raise TaskError(f"forbidden={index}: expected indices of actions, from 0 to {actions - 1}")


def _only(uri: ProgramsLike) -> Program:
    """The one program that ``reset`` was given."""
    programs = resolve(uri)
    if len(programs) != 1:
        raise ProgramError(f"{uri}: {len(programs)} programs, expected one")
    return programs[0]
