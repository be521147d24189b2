# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search of decisions that do not depend on each other: an episode for every action has all outcomes."""

from collections.abc import Iterator

import numpy as np

from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import CompilerError, TaskError
from mlcb_gym.search.decisions import Decision
from mlcb_gym.spec import MASK


def separate_search(env: CompilerEnv, program: Program) -> list[Decision]:
    """Return all decisions on one program, each with the ratio that the program has where this one decision alone is another than the heuristic's.

    An episode takes one action wherever it is allowed, and the heuristic's elsewhere; what each of its steps is paid is what that decision saves.

    Raises:
        NoDecisions: the program leaves none.
        CompilerError: the compiler fails on an action.
        TaskError: the environment does not pay step by step.
    """
    if not env.dense:
        raise TaskError(f"{env.task}: its search looks at every step, expected dense=True")
    first, *others = (list(_episode(env, program, action)) for action in range(env.num_actions))
    outcomes = np.full((len(first), env.num_actions), np.inf)
    for episode in (first, *others):
        for step, (_, action, saved) in enumerate(episode):
            outcomes[step, action] = 1.0 - saved
    return [Decision((0,) * step, observation, 1.0, outcomes[step]) for step, (observation, _, _) in enumerate(first)]


def _episode(env: CompilerEnv, program: Program, preferred: int) -> Iterator[tuple[Observation, int, float]]:
    """Yield the observation, the action and the reward of every step."""
    env.reset(options={"program": program})
    ended = False
    while not ended:
        observation = {name: np.array(value) for name, value in env.observation.items()}
        action = preferred if observation[MASK][preferred] else int(env.default_action(observation))
        _, reward, terminated, truncated, info = env.step(action)
        if "error" in info:
            raise CompilerError(f"{env.program.name}: {info['error']}")
        ended = terminated or truncated
        yield observation, action, float(reward)
