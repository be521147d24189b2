# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments that are closed after a test, and episodes played to their end."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, TypeVar

from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Action, Observation

Env = TypeVar("Env", bound=CompilerEnv)
Choose = Callable[[Observation], Action]


@contextmanager
def making(new: Callable[..., Env]) -> Iterator[Callable[..., Env]]:
    """Makes environments, and closes them at the end."""
    with ExitStack() as made:
        yield lambda *arguments, **named: made.enter_context(closing(new(*arguments, **named)))


def finish(env: CompilerEnv, choose: Choose, program: object = None) -> tuple[float, int, dict[str, Any]]:
    """The return of an episode on a program, or on the first of the environment's; its decisions, and what was measured at its end."""
    observation, info = env.reset(options={"program": program or env.programs[0]})
    earned, steps, ended = 0.0, 0, False
    while not ended:
        observation, reward, ended, _, info = env.step(choose(observation))
        earned, steps = earned + reward, steps + 1
    assert "error" not in info, info
    return earned, steps, info
