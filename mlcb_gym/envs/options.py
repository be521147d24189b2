# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arguments that every environment has, beside those of its task."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from typing import TypedDict, get_args

from gymnasium import spaces

from mlcb_gym.envs.sampling import Sampling
from mlcb_gym.errors import TaskError
from mlcb_gym.session import EpisodeRequest, Limits, Session, Target, open_session
from mlcb_gym.spec import TaskSpec


class CompilerOptions(TypedDict, total=False):
    """The arguments of every environment, for type checkers: ``**options: Unpack[CompilerOptions]``. ``Options`` has their meaning and defaults."""

    forbidden: Sequence[int]
    target: Target
    limits: Limits
    verify: bool
    session: Session | str | None
    metrics: Sequence[str]
    sampling: Sampling
    render_mode: str | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The arguments of every environment.

    Args:
        forbidden: actions that are never allowed.
        target: the machine that code is generated for.
        limits: CPU time, wall-clock time and memory of one episode.
        verify: run LLVM's verifier after every action.
        session: the compiler, or its URI (see ``open_session``). The environment ends it, unless it was given as an object.
        metrics: names of metrics that are measured beside those of the reward.
        sampling: how programs are drawn (see ``mlcb_gym.envs.sampling``).
        render_mode: ``"ansi"`` or None.
    """

    forbidden: Sequence[int] = ()
    target: Target = field(default_factory=Target)
    limits: Limits = field(default_factory=Limits)
    verify: bool = False
    session: Session | str | None = None
    metrics: Sequence[str] = ()
    sampling: Sampling = "uniform"
    render_mode: str | None = None

    @classmethod
    def of(cls, env: type, arguments: CompilerOptions) -> "Options":
        """Return the options among the arguments that the class of an environment does not take itself.

        Raises:
            TaskError: there is an argument that the environment does not have.
        """
        if unknown := sorted(set(arguments) - set(CompilerOptions.__annotations__)):
            raise TaskError(f"{env.__name__} has no argument {', '.join(unknown)}, expected some of {', '.join(sorted(arguments_of(env)))}")
        return cls(**arguments)

    def request(self, program: Path, metrics: Sequence[str], *, dense: bool) -> EpisodeRequest:
        """Return what an episode is started with, where the reward needs ``metrics``."""
        return EpisodeRequest(
            program=program,
            metrics=tuple(dict.fromkeys([*metrics, *self.metrics])),
            measure="always" if dense else "end",
            forbidden=tuple(self.forbidden),
            verify=self.verify,
            target=self.target,
            limits=self.limits,
        )

    def open(self, new_session: Callable[[], Session]) -> tuple[Session, bool]:
        """Return the compiler, and whether the environment ends it; ``new_session`` makes one where none is given."""
        if self.session is None:
            return new_session(), True
        return (open_session(self.session), True) if isinstance(self.session, str) else (self.session, False)

    def check(self, spec: TaskSpec) -> None:
        """Checks the indices of actions and the names of metrics.

        Raises:
            TaskError: the task has no such action or metric.
        """
        actions = int(spec.action_space.n) if isinstance(spec.action_space, spaces.Discrete) else 0
        for index in self.forbidden:
            if not 0 <= index < actions:
                expected = f"indices of actions, from 0 to {actions - 1}" if actions else "none: the task asks for a value"
                raise TaskError(f"forbidden={index}: expected {expected}")
        for name in self.metrics:
            if name not in spec.metrics:
                raise TaskError(f"metrics={name!r}: expected some of {', '.join(spec.metrics)}")


def arguments_of(env: type) -> tuple[str, ...]:
    """Return the names of the arguments that an environment is made with: those of its task, then those of every environment."""
    parameters = signature(env.__init__).parameters.values()  # type: ignore[misc]
    own = [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
    unpacked = [name for p in parameters if p.kind is Parameter.VAR_KEYWORD for options in get_args(p.annotation) for name in options.__annotations__]
    return (*own, *sorted(unpacked, key=lambda name: name in CompilerOptions.__annotations__))
