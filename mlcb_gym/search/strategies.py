# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which search suits a task: what ``mlcb search`` runs on every program."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mlcb_gym.agents.heuristic import Heuristic
from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import TaskError
from mlcb_gym.rollout.network_policy import InCompiler
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.search.beam_search import BeamSearch, beam_search
from mlcb_gym.search.counterfactual import counterfactuals, improve
from mlcb_gym.search.decisions import Decision
from mlcb_gym.search.exhaustive import exhaustive_search


def search_in(
    env: CompilerEnv, *, policy: Path | None = None, decisions: int = 12, improve_all: bool = False, sequences: int = 256
) -> Callable[[Program], list[Decision]]:
    """A look-ahead where a few decisions are to be taken; where the compiler has a heuristic for each of many, what other answers come to;
    every sequence of answers, where several agents give them.

    Args:
        policy: the folder of the policy whose answers are contrasted; by default the heuristic's are.
        decisions: how many of a program's on average, unless all are improved.
        sequences: of several agents, how many are tried of a program at most.

    Raises:
        TaskError: a value is asked for, of which not every one can be tried.
    """
    if len(env.task_spec.agents) > 1:
        return partial(exhaustive_search, env, sequences=sequences, equivalence_key=env.record.equivalence_key)
    if not env.num_actions:
        raise TaskError(f"{env.task}: asks for a value, which no search tries, expected a task that asks for a choice")
    if env.heuristic is None:
        return partial(beam_search, env, beam=BeamSearch())
    followed = _followed(env, policy)
    if improve_all:
        return partial(improve, env, **followed)
    return partial(counterfactuals, env, **followed, decisions=decisions, search_priority=env.record.search_priority)


def _followed(env: CompilerEnv, policy: Path | None) -> dict[str, Any]:
    """What answers where nothing else is tried: here and, where that takes models, in the compiler."""
    if policy is not None:
        shipped = OnnxPolicy(policy)
        return {"policy": shipped.choose, "rest": shipped.delegate if env.takes_models else None}
    assert env.heuristic is not None
    heuristic = Heuristic(env.heuristic, env.num_actions)
    return {"policy": env.default_action, "rest": InCompiler(heuristic, env)(heuristic) if env.takes_models else None}
