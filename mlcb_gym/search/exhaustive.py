# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exhaustive search: every sequence of actions on a program, or, where these are many, sequences drawn at random."""

from collections.abc import Callable, Hashable
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np

from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import SessionLost, TaskError
from mlcb_gym.rollout.random_policy import rng_of
from mlcb_gym.search.decisions import Actions, Decision, back_up
from mlcb_gym.spec import MASK, acting_agent

EquivalenceKey = Callable[[Observation, int], Hashable | None]
"""From an observation and an action to the partial result that the action fixes, None where it fixes none: sequences that fix equal results one
after another make the same program, which is measured once."""


def exhaustive_search(
    env: CompilerEnv, program: Program, *, sequences: int = 256, equivalence_key: EquivalenceKey | None = None, seed: int = 1
) -> list[Decision]:
    """Return the decisions on one program, the first one first, with the ratio of the best sequence after each action.

    The first sequence is that of the compiler's own heuristic. Others are drawn, none twice, until all are known or there are ``sequences`` of them.
    The outcome of an action that no sequence took is infinite.

    Raises:
        TaskError: the environment measures nothing.
    """
    if env.objective is None:
        raise TaskError(f"{env.task}: a search needs an outcome, expected a reward that measures")
    tree = _Tree(equivalence_key, rng_of(program, seed))
    env.reset(options={"program": program})
    root = tree.state((), env.observation)
    while not root.complete and tree.sequences < sequences:
        with closing(env.fork()) as clone:
            tree.descend(clone, by_heuristic=tree.sequences == 0)
    decisions = {taken: state.decision(taken, env.num_actions) for taken, state in tree.states.items()}
    back_up(decisions)
    return [replace(decision, weight=1 / len(decisions)) for decision in decisions.values()]


@dataclass
class _State:
    """A decision, the ratios of the actions that end an episode, and the actions behind which every sequence is known."""

    observation: Observation
    allowed: np.ndarray
    ends: dict[int, float] = field(default_factory=dict)
    known: set[int] = field(default_factory=set)

    @property
    def complete(self) -> bool:
        return len(self.known) == len(self.allowed)

    def decision(self, taken: Actions, num_actions: int) -> Decision:
        outcomes = np.full(num_actions, np.inf)
        for action, ratio in self.ends.items():
            outcomes[action] = ratio
        return Decision(taken, self.observation, np.inf, outcomes)


class _Tree:
    """The decisions of a program that were reached."""

    def __init__(self, equivalence_key: EquivalenceKey | None, rng: np.random.Generator) -> None:
        self.states: dict[Actions, _State] = {}
        self.sequences = 0
        self._equivalence_key, self._rng = equivalence_key, rng
        self._ratios: dict[tuple[Hashable, ...], float] = {}

    def state(self, taken: Actions, observation: Observation) -> _State:
        if taken not in self.states:
            self.states[taken] = _State(observation, np.flatnonzero(acting_agent(observation)[1][MASK]))
        return self.states[taken]

    def descend(self, env: CompilerEnv, *, by_heuristic: bool) -> None:
        """Play a sequence that was not played before to its end."""
        taken: Actions = ()
        settled: tuple[Hashable, ...] = ()
        ratio: float | None = None
        while ratio is None:
            state = self.state(taken, env.observation)
            action = int(env.default_action(env.observation)) if by_heuristic else self._draw(state)
            new = self._equivalence_key(env.observation, action) if self._equivalence_key else None
            settled += () if new is None else (new,)
            ratio = self._ratios.get(settled) if new is not None else None
            taken += (action,)
            if ratio is None:
                ratio = _outcome(env, action)
        self._ratios[settled] = ratio
        self.sequences += 1
        self._end(taken, ratio)

    def _draw(self, state: _State) -> int:
        return int(self._rng.choice([action for action in state.allowed if int(action) not in state.known]))

    def _end(self, taken: Actions, ratio: float) -> None:
        """Note the end of a sequence, and the decisions behind which every sequence is now known."""
        self.states[taken[:-1]].ends[taken[-1]] = ratio
        for length in range(len(taken), 0, -1):
            self.states[taken[: length - 1]].known.add(taken[length - 1])
            if not self.states[taken[: length - 1]].complete:
                break


def _outcome(env: CompilerEnv, action: int) -> float | None:
    """Take an action and return the ratio where it ends the episode, infinite where the compiler fails; else None."""
    *_, terminated, truncated, info = env.step(action)
    if truncated:
        raise SessionLost(info["error"])
    if not terminated:
        return None
    return float("inf") if "error" in info else float(info["ratio"])
