# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy for the register allocator against LLVM's own advisor, and against what does not look at the question at all."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from mlcb_gym.corpus.programs import ProgramsLike, resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.objective import default_of
from mlcb_gym.envs.record import Observation
from mlcb_gym.evaluation.report import COUNTS, POLICY, Bench, Evaluation
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import Choose, episode
from mlcb_gym.rollout.trace import Trace
from mlcb_gym.session import WorkerSession
from mlcb_gym.session.functions import COST
from mlcb_gym.spec import MASK

GUARDED = "cost_guarded"
"""What is measured beside the cost: that of each function by the method or by LLVM's own advisor, whichever is less."""
GREEDY = "greedy"
"""LLVM's own advisor."""


def last_allowed(observation: Observation) -> int:
    """Evicts nothing, where that is allowed."""
    return int(np.flatnonzero(observation[MASK])[-1])


def first_allowed(observation: Observation) -> int:
    """Evicts what is in the first register of the allocation order that may be evicted, always."""
    return int(np.flatnonzero(observation[MASK])[0])


def same_for_all(observation: Observation) -> np.ndarray:
    """No live range comes before another."""
    return np.zeros(1, np.float32)


def small_first(observation: Observation) -> np.ndarray:
    """Live ranges by their size, the opposite of what LLVM does."""
    return 1 / (1 + observation["li_size"].astype(np.float32))


NULLS: Mapping[str, Mapping[str, Choose]] = {
    "eviction": {"never": last_allowed, "first": first_allowed},
    "priority": {"same": same_for_all, "small first": small_first},
}
"""By task, what does not learn."""


def evaluate_allocation(folder: Path, programs: ProgramsLike, *, counts: Sequence[int] = COUNTS, seed: int = 1) -> Evaluation:
    """Evaluates a policy folder for either task, one greedy episode a program, and all but random ones with a guard too, which keeps LLVM's own
    allocation of a function where that costs less. A program without a decision counts as 1.

    Args:
        counts: of how many random episodes the best is taken.
    """
    policy = OnnxPolicy(folder)
    chosen = resolve(programs)
    metrics = {"size": (COST, default_of(COST)), "text": ("text", default_of("text"))}
    evaluation = Evaluation(str(folder.name), [p.name for p in chosen], [p.project for p in chosen], metrics, measure="cost", baseline=GREEDY)
    with closing(WorkerSession()) as session:
        bench = Bench(partial(env_class(policy.task), programs=chosen, session=session, **(policy.env_arguments | {"reward": GUARDED})), chosen)
        evaluation.add_baseline([Trace(program.name, (), (1.0,)) for program in chosen])
        for method, choose in {POLICY: policy.delegate, **NULLS[policy.task]}.items():
            traces = bench.run(partial(episode, choose=choose), method)
            evaluation.add(method, traces)
            evaluation.add_ratios(f"{method}, guarded", [trace.scored for trace in traces])
        bench.add_random(evaluation, counts, seed)
    return evaluation
