# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy for the inliner against LLVM's own heuristic, and against what does not look at the call at all."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
from rich.progress import track

from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.envs.objective import default_of
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import MlcbError, NoDecisions
from mlcb_gym.evaluation.report import COUNTS, POLICY, SEARCH, Bench, Evaluation
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import Choose, episode, play_in_order, replay
from mlcb_gym.rollout.trace import Trace
from mlcb_gym.search.counterfactual import improve
from mlcb_gym.session import WorkerSession
from mlcb_gym.spec import MASK


def prefers(answer: int) -> Choose:
    """The same answer everywhere, where it is allowed."""

    def choose(observation: Observation) -> int:
        return answer if observation[MASK][answer] else int(np.flatnonzero(observation[MASK])[0])

    return choose


NULLS: Mapping[str, Choose] = {"always": prefers(1), "never": prefers(0)}


def search_priority(observation: Observation) -> float:
    """How much is expected of the other answer: most where a callee may go, or where LLVM's cost is close to its threshold."""

    def of(name: str) -> int:
        return int(observation[name].item()) if observation[name].size else 0

    cost, calls = of("cost_estimate"), of("callee_calls")
    if of("inlining_default"):
        return 0.15 if of("callee_discardable") else 1.0
    if of("callee_discardable") and calls <= 2 and not of("callee_left"):
        return 1.0 if cost < 500 or calls == 1 else 0.1
    return 0.5 if cost < 100 else 0.15 if cost < 200 else 0.02


def evaluate_inliner(folder: Path, programs: ProgramsLike, *, counts: Sequence[int] = COUNTS, seed: int = 1, search: bool = False) -> Evaluation:
    """Evaluates a policy folder, one greedy episode a program. A program without a decision counts as 1.

    Args:
        counts: of how many random episodes the best is taken.
        search: what a search of each program for itself finds, too (see ``improve``): hundreds of episodes a program.
    """
    policy = OnnxPolicy(folder)
    chosen = resolve(programs)
    metrics = {name: (name, default_of(name)) for name in ("size", "text")}
    evaluation = Evaluation(str(folder.name), [p.name for p in chosen], [p.project for p in chosen], metrics)
    with closing(WorkerSession()) as session:
        bench = Bench(partial(InlinerEnv, programs=chosen, session=session, reward="object", **policy.env_arguments), chosen)
        evaluation.add_baseline([Trace(program.name, (), (1.0,)) for program in chosen])
        for method, choose in {POLICY: policy.delegate, **NULLS}.items():
            evaluation.add(method, bench.run(partial(episode, choose=choose), method))
        evaluation.add_guarded(POLICY, f"{POLICY}, guarded")
        if search:
            evaluation.add(SEARCH, [searched(bench.envs[0], program) for program in track(chosen, description=SEARCH, transient=True)])
        bench.add_random(evaluation, counts, seed)
    return evaluation


def searched(env: InlinerEnv, program: Program) -> Trace:
    """The episode that a search found, played. ``Trace.error`` says it if the search failed."""
    try:
        decisions = improve(env, program, env.default_action)
    except NoDecisions:
        return Trace(program.name, (), (1.0,))
    except MlcbError as error:
        return Trace(program.name, (), (), str(error))
    last = decisions[-1]
    (trace,) = play_in_order([env], [replay(program, (*last.taken, int(last.outcomes.argmin())))])
    return trace
