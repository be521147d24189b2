# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gymnasium's ``reset`` and ``step`` in two halves each, so that many compilers can work at once behind one Python process."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from mlcb_gym.envs.record import Action, Observation

Info = dict[str, Any]
Step = tuple[Observation, float, bool, bool, Info]


class HalvedEnv(gymnasium.Env[Observation, Action], ABC):
    """An environment whose ``reset`` is ``send_reset`` and ``receive_reset``, and whose ``step`` is ``send`` and ``receive``."""

    deterministic: bool = True
    """Whether equal seeds and actions give equal rewards and ``info``; otherwise ``spec.nondeterministic`` is set."""
    takes_models: bool
    """Whether models in the compiler can take the decisions of an episode."""
    _registered: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """The spec that ``gymnasium.make`` made it by; None where it was made directly."""
        return self._registered

    @spec.setter
    def spec(self, registered: EnvSpec | None) -> None:
        self._registered = registered and replace(registered, nondeterministic=not self.deterministic)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Starts an episode on ``options["program"]``, or on a program drawn from ``programs``.

        Raises:
            ProgramError: the given program cannot be found or compiled.
            CompilerError: the compiler cannot read the program.
            NoDecisions: the given program leaves nothing to decide.
            SessionLost: the compiler cannot be started.
        """
        self.reseed(seed)
        self.send_reset(options)
        return self.receive_reset()

    def step(self, action: Action) -> Step:
        """Takes an action and waits for the next observation."""
        self.send(action)
        return self.receive()

    def delegate(self, models: Sequence[bytes]) -> Step:
        """Lets models in the compiler take this decision and all that follow, and waits for the end of the episode: no message is exchanged for
        each of them. The rewards of their steps are added up.

        Args:
            models: the contents of an ONNX file for each agent, as a policy folder holds them.

        Raises:
            TaskError: the compiler takes no models, as a stock one; or an episode is a function.
        """
        self.send_models(models)
        return self.receive()

    def reseed(self, seed: int | None) -> None:
        """Seeds the draw of programs, as ``reset(seed=...)`` does."""
        super().reset(seed=seed)

    @abstractmethod
    def action(self, advice: int | float) -> Action:
        """Return the action that gives the compiler this advice, which an exported policy computes."""

    @abstractmethod
    def send_reset(self, options: dict[str, Any] | None = None) -> None:
        """The first half of ``reset``: lets the compiler begin, and returns at once."""

    @abstractmethod
    def receive_reset(self) -> tuple[Observation, Info]:
        """The second half of ``reset``: waits for the first observation."""

    @abstractmethod
    def send(self, action: Action) -> None:
        """The first half of ``step``: sends the compiler its advice, and returns at once."""

    @abstractmethod
    def send_models(self, models: Sequence[bytes]) -> None:
        """The first half of ``delegate``: sends the compiler the models, and returns at once."""

    @abstractmethod
    def receive(self) -> Step:
        """The second half of ``step`` and ``delegate``: waits for the next observation, or the end of the episode."""

    @abstractmethod
    def ready(self) -> bool:
        """Whether the second half returns at once. While it does not, a message of the compiler makes ``fileno`` readable."""

    @abstractmethod
    def fileno(self) -> int:
        """The descriptor to wait on until ``ready``, as a selector does; -1 outside an episode."""
