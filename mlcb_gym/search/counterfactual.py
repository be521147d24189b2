# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counterfactual outcomes of single decisions: the compiler is forked at a decision, and a policy plays every other action's clone to its end.

For episodes of hundreds of small decisions, as in inlining, of which only the end is measured. These are Bertsekas' rollouts: the policy that
takes the best action of each decision improves the policy that is followed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Observation, equal_priority
from mlcb_gym.errors import CompilerError, SessionLost, TaskError
from mlcb_gym.rollout.play import PARALLEL, Answer, Choose, Decide, Script, play_in_order
from mlcb_gym.rollout.random_policy import rng_of
from mlcb_gym.search.decisions import Actions, Decision

SearchPriority = Callable[[Observation], float]
"""From an observation to a number that the chance of its decision to be searched is proportional to; more than 0."""


@dataclass(frozen=True)
class _Contrasted:
    """A clone that takes another action, and the decision where it does."""

    decision: Decision
    action: int
    clone: CompilerEnv


def counterfactuals(
    env: CompilerEnv,
    program: Program,
    policy: Choose,
    *,
    rest: Decide | None = None,
    decisions: float = 12,
    search_priority: SearchPriority = equal_priority,
    seed: int = 1,
) -> list[Decision]:
    """Return some decisions of a policy's own episode, drawn at random, each with the inverse of its chance as weight.

    Args:
        env: an environment that measures at the end.
        policy: takes the decisions that are not searched, and all that follow one that is.
        rest: the same policy in the compiler, for all that follow.
        decisions: the number of decisions on average.
        search_priority: a number that a decision's chance to be drawn is proportional to.

    Raises:
        NoDecisions: the program leaves none.
        CompilerError: the compiler fails on what the policy decides.
        SessionLost: the machine failed.
        TaskError: the environment measures nothing.
    """
    ratio, priorities = _played(env, program, policy, search_priority)
    chances = np.minimum(1.0, decisions * priorities / priorities.sum())
    drawn = np.flatnonzero(rng_of(program, seed).random(len(chances)) < chances)
    known: list[Decision] = []
    if not len(drawn):
        return known
    env.reset(options={"program": program})
    with ExitStack() as made:
        waiting: list[_Contrasted] = []
        for taken in _path(env, policy, drawn[-1]):
            if len(taken) in drawn:
                known.append(_known(env, taken, _asked(env, policy), ratio, weight=1 / chances[len(taken)]))
                waiting += _others(env, known[-1], made)
            if len(waiting) >= PARALLEL:
                _finish(waiting, rest or policy)
                waiting.clear()
        _finish(waiting, rest or policy)
    return known


def improve(env: CompilerEnv, program: Program, policy: Choose, *, rest: Decide | None = None) -> list[Decision]:
    """Search a program: play an episode with the best action of every decision, where a policy takes all that follow. Return all its decisions,
    as ``counterfactuals`` returns some."""
    ratio, _ = _played(env, program, policy)
    known: list[Decision] = []
    taken: Actions = ()
    env.reset(options={"program": program})
    while True:
        decision = _known(env, taken, _asked(env, policy), ratio)
        with ExitStack() as made:
            others = _others(env, decision, made)
            while batch := list(islice(others, PARALLEL)):
                _finish(batch, rest or policy)
        known.append(decision)
        ratio = float(decision.outcomes.min())
        own = _asked(env, policy)
        action = own if decision.outcomes[own] == ratio else int(decision.outcomes.argmin())
        if not _step(env, action):
            return known
        taken = (*taken, action)


def _played(env: CompilerEnv, program: Program, policy: Choose, search_priority: SearchPriority = equal_priority) -> tuple[float, np.ndarray]:
    """Return the ratio that the policy reaches, and the priority of each of its decisions."""
    env.reset(options={"program": program})
    priorities = [search_priority(env.observation)]
    while _step(env, _asked(env, policy)):
        priorities.append(search_priority(env.observation))
    if env.ratio is None:
        raise TaskError(f"{env.task}: the environment measures nothing that actions can be compared by, expected another reward")
    return env.ratio, np.array(priorities)


def _path(env: CompilerEnv, policy: Choose, last: int) -> Iterator[Actions]:
    """Yield the actions before each decision, up to decision number ``last``."""
    taken: Actions = ()
    yield taken
    while len(taken) < last:
        action = _asked(env, policy)
        _step(env, action)
        taken = (*taken, action)
        yield taken


def _known(env: CompilerEnv, taken: Actions, own: int, ratio: float, weight: float = 1.0) -> Decision:
    """Return a decision with the outcome of the policy's own action alone."""
    outcomes = np.full(env.num_actions, np.inf)
    outcomes[own] = ratio
    return Decision(taken, deepcopy(env.observation), ratio, outcomes, weight)


def _others(env: CompilerEnv, decision: Decision, made: ExitStack) -> Iterator[_Contrasted]:
    """Yield a clone for every allowed action whose outcome is not known."""
    for action in np.flatnonzero(env.action_masks()):
        if np.isinf(decision.outcomes[action]):
            yield _Contrasted(decision, int(action), made.enter_context(closing(env.fork())))


def _finish(contrasted: Sequence[_Contrasted], rest: Decide) -> None:
    """Play every clone from its action to the end, all at once, and note the outcome."""
    answers = play_in_order([c.clone for c in contrasted], (_continued(c.action, rest) for c in contrasted))
    for one, answer in zip(contrasted, answers, strict=True):
        if answer.lost:
            raise SessionLost(answer.info["error"])
        if "error" not in answer.info:
            one.decision.outcomes[one.action] = answer.info["ratio"]


def _continued(action: int, rest: Decide) -> Script[Answer]:
    answer = yield action
    while not answer.ended:
        chosen = rest(answer.observation)
        assert chosen is not None
        answer = yield chosen
    return answer


def _asked(env: CompilerEnv, policy: Choose) -> int:
    action = policy(env.observation)
    assert action is not None
    return int(action)


def _step(env: CompilerEnv, action: int) -> bool:
    """Take an action; whether the episode goes on."""
    *_, terminated, truncated, info = env.step(action)
    if "error" in info:
        raise (SessionLost if truncated else CompilerError)(f"{env.program.name}: {info['error']}")
    return not (terminated or truncated)
