# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Beam search by forking the compiler: every action of a decision is tried, and the best states of each depth are expanded.

A rollout has the outcome of one action of a decision; a beam search has the outcomes of all.
"""

from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

import numpy as np

from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import SessionLost, TaskError
from mlcb_gym.rollout.play import PARALLEL
from mlcb_gym.rollout.random_policy import rng_of
from mlcb_gym.search.decisions import Actions, Decision, back_up
from mlcb_gym.spec import MASK


@dataclass(frozen=True, kw_only=True)
class BeamSearch:
    """The width and depth of a beam search.

    Args:
        widths: the number of best states that are expanded at each depth, from the second decision on.
        exploration: the number of others, drawn at random, that are expanded as well: states that a policy reaches by mistakes.
    """

    widths: tuple[int, ...] = (2, 1, 1)
    exploration: int = 1
    seed: int = 1


def beam_search(env: CompilerEnv, program: Program, beam: BeamSearch) -> list[Decision]:
    """Return the decisions on one program, the first one first. Their weights sum to 1.

    Example: of three actions at the start, with ``widths=(2,)`` and ``exploration=0``: the clones that took them measure ratios of 1.0, 0.9 and 0.95.
    The last two are expanded, and an action after the second one measures 0.8. Backed up, the first decision has the outcomes 1.0, 0.8 and the best
    one behind the third action. States of equal ratio count as one.

    Raises:
        TaskError: the environment does not measure after every step.
    """
    rng = rng_of(program, beam.seed)
    env.reset(options={"program": program})
    decisions: dict[Actions, Decision] = {}
    frontier: list[tuple[Actions, CompilerEnv]] = [((), env)]
    with ExitStack() as made:
        for width in (*beam.widths, 0):
            reached: dict[float, tuple[Actions, CompilerEnv]] = {}
            for taken, state in frontier:
                decisions[taken], clones = _try_all(state, taken, made)
                if taken:
                    state.close()
                for action, clone in clones.items():
                    ratio = decisions[taken].outcomes[action]
                    if ratio in reached:
                        clone.close()
                    else:
                        reached[ratio] = (*taken, action), clone
            frontier = _promising(list(reached[ratio] for ratio in sorted(reached)), width, beam.exploration, rng)
            kept = {taken for taken, _ in frontier}
            for taken, clone in reached.values():
                if taken not in kept:
                    clone.close()
    back_up(decisions)
    return [replace(decision, weight=1 / len(decisions)) for decision in decisions.values()]


def _try_all(env: CompilerEnv, taken: Actions, made: ExitStack) -> tuple[Decision, dict[int, CompilerEnv]]:
    """Fork the compiler once for every allowed action, ``PARALLEL`` clones at a time. Return the clones whose episode goes on, to be closed;
    ``made`` closes those that are left."""
    ratio = env.ratio
    if ratio is None:
        raise TaskError(f"{env.task}: a beam search needs a measurement after every step, expected dense=True and a reward that measures")
    outcomes = np.full(env.num_actions, np.inf)
    clones: dict[int, CompilerEnv] = {}
    allowed = np.flatnonzero(env.observation[MASK])
    for group in np.array_split(allowed, -(-len(allowed) // PARALLEL)):
        working = {int(action): made.enter_context(closing(env.fork())) for action in group}
        for action, clone in working.items():
            clone.send(action)
        for action, clone in working.items():
            *_, terminated, truncated, info = clone.receive()
            if truncated and "error" in info:
                raise SessionLost(info["error"])
            if "error" not in info:
                outcomes[action] = info["ratio"]
            if terminated or truncated:
                clone.close()
            else:
                clones[action] = clone
    return Decision(taken, env.observation, ratio, outcomes), clones


def _promising(
    ordered: list[tuple[Actions, CompilerEnv]], width: int, exploration: int, rng: np.random.Generator
) -> list[tuple[Actions, CompilerEnv]]:
    """Return the best states and some others; none at the greatest depth."""
    others = ordered[width:]
    return ordered[:width] + [others[i] for i in rng.permutation(len(others))[:exploration]] if width else []
