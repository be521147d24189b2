# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes played to their end."""

from collections.abc import Callable
from typing import Any

from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Action, Observation

Choose = Callable[[Observation], Action]


def finish(env: CompilerEnv, choose: Callable[[Observation], Action | None], program: object = None) -> tuple[float, int, dict[str, Any]]:
    """The return of an episode on a program, or on the first of the environment's; its decisions, and what was measured at its end."""
    observation, info = env.reset(options={"program": program or env.programs[0]})
    earned, steps, ended = 0.0, 0, False
    while not ended:
        action = choose(observation)
        assert action is not None
        observation, reward, ended, _, info = env.step(action)
        earned, steps = earned + reward, steps + 1
    assert "error" not in info, info
    return earned, steps, info
