# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The best of several answers in every decision for itself, as a compiler finds it that generates code for each (-mlcb-candidates)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.rollout.play import Choose, Script, episode, name_of
from mlcb_gym.rollout.trace import Trace
from mlcb_gym.spec import MASK

Default = Callable[[Observation], Action]
"""From an observation to what the compiler's own heuristic would do."""


def nth_allowed(index: int, default: Default) -> Choose:
    """Return the policy that takes the allowed action of this index, from 0, not counting the heuristic's own, which it takes where there are
    fewer."""

    def choose(observation: Observation) -> Action:
        own = default(observation)
        others = [action for action in np.flatnonzero(observation[MASK]) if action != own]
        return int(others[index]) if index < len(others) else own

    return choose


def nth_preferred(index: int, logits: Callable[[Observation], np.ndarray]) -> Choose:
    """Return the policy that takes the allowed action of this rank, from 0, by logits; the last one where there are fewer."""

    def choose(observation: Observation) -> Action:
        allowed = np.flatnonzero(observation[MASK])
        ranked = allowed[np.argsort(-logits(observation)[allowed], kind="stable")]
        return int(ranked[min(index, len(ranked) - 1)])

    return choose


def best_of_each(program: Any, candidates: Sequence[Choose], default: Default | None = None) -> Script[Trace]:
    """Play an episode by each candidate, and return one that takes in every decision the answer that has saved most, or the heuristic's own, if that
    is given. Where the program is larger than by the heuristic, the ratio is 1.

    For dense environments of decisions that do not depend on each other. A candidate that fails has no say."""
    tried = []
    for choose in candidates:
        trace = yield from episode(program, choose)
        if trace.error is None and trace.actions:
            tried.append(trace)
    if not tried:
        return Trace(name_of(program), (), (1.0,))
    saved = -np.diff([(1.0, *trace.ratios[1:]) for trace in tried], axis=1)
    remaining = zip(saved.argmax(axis=0), saved.max(axis=0), strict=True)
    taken = enumerate(remaining)

    def choose_best(observation: Observation) -> Action:
        step, (candidate, most) = next(taken)
        return tried[candidate].actions[step] if default is None or most > 0 else default(observation)

    trace = yield from episode(program, choose_best)
    return trace if trace.ratio <= 1 else Trace(name_of(program), (), (1.0,))
