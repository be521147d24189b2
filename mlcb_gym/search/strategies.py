# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search that suits an environment: what ``mlcb search`` runs on every program."""

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import TaskError
from mlcb_gym.policies import policy_path
from mlcb_gym.regular_file import read_regular
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import Decide
from mlcb_gym.search import counterfactual as rollouts
from mlcb_gym.search.beam_search import BeamSearch, beam_search
from mlcb_gym.search.decisions import Search, SearchProgram
from mlcb_gym.search.declaration import Declaration
from mlcb_gym.search.exhaustive import exhaustive_search
from mlcb_gym.search.separate import separate_search


def exhaustive(env: CompilerEnv, *, sequences: int = 256) -> SearchProgram:
    """Return the search of all sequences of actions.

    Args:
        sequences: sequences tried of a program at most; more are drawn at random.
    """
    return partial(exhaustive_search, env, sequences=_at_least(2, sequences=sequences), equivalence_key=env.record.equivalence_key)


def beam(env: CompilerEnv) -> SearchProgram:
    """Return the search of every action at the most promising states."""
    return partial(beam_search, env, beam=BeamSearch())


def counterfactual(env: CompilerEnv, *, policy: Path | None = None, decisions: int = 12, improve: bool = False) -> SearchProgram:
    """Return the search of single other actions, each followed by a policy to the end of the episode.

    Args:
        policy: a policy folder, or the task of a policy that ships; by default the compiler's own heuristic is followed.
        decisions: decisions of a program on average, drawn at random.
        improve: search all decisions, and go on with the better action.
    """
    chosen = _at_least(1, decisions=decisions)
    followed = _followed(env, policy)
    if improve:
        return partial(rollouts.improve, env, **followed)
    return partial(rollouts.counterfactuals, env, **followed, decisions=chosen, search_priority=env.record.search_priority)


def separate(env: CompilerEnv) -> SearchProgram:
    """Return the search of every action of every decision, where decisions do not depend on each other."""
    return partial(separate_search, env)


SEARCHES = (exhaustive, beam, counterfactual, separate)


def search_in(env: CompilerEnv, **options: Any) -> Search:
    """Return the search of an environment: where the compiler has no heuristic of its own, exhaustive for several agents, else a beam search; one of
    each decision for itself where they are separable; else a counterfactual one.

    Args:
        options: keyword arguments of that search.

    Raises:
        TaskError: actions are values, of which not every one can be tried; an episode is one function of a program; or the search has no such
            option, or no such value of it.
    """
    env.check_whole("a search")
    search = _suitable(env)
    known = search_options(search)
    if unknown := sorted(set(options) - set(known)):
        expected = f"one of {', '.join(known)}" if known else "none"
        raise TaskError(f"{env.task}: its search has no option {', '.join(unknown)}, expected {expected}")
    declared = {name: parameter.default for name, parameter in known.items()} | options
    return Search(search(env, **options), Declaration.of(env, search=search.__name__, **{name: _declared(value) for name, value in declared.items()}))


def search_options(search: Callable[..., SearchProgram]) -> Mapping[str, Parameter]:
    """Return the options of a search, its keyword-only parameters."""
    return {name: parameter for name, parameter in signature(search).parameters.items() if parameter.kind is Parameter.KEYWORD_ONLY}


def _suitable(env: CompilerEnv) -> Callable[..., SearchProgram]:
    if not env.num_actions:
        raise TaskError(f"{env.task}: asks for a value, which no search tries, expected a task that asks for a choice")
    if env.heuristic is None:
        return exhaustive if len(env.task_spec.agents) > 1 else beam
    return separate if env.record.separable else counterfactual


def _declared(value: Any) -> Any:
    """Return the value of an option as JSON has it: a policy by the digest of its models, since another one may take its place."""
    if not isinstance(value, Path):
        return value
    return sha256(b"".join(read_regular(model) for model in sorted(policy_path(str(value)).glob("*.onnx")))).hexdigest()


def _followed(env: CompilerEnv, policy: Path | None) -> dict[str, Any]:
    """Return the policy that is followed where nothing else is tried: here and, where the compiler takes models, there."""
    if policy is not None:
        exported = OnnxPolicy(policy_path(str(policy)))
        return {"policy": exported.player(env), "rest": exported.delegate if env.takes_models else None}
    assert env.heuristic is not None
    return {"policy": env.default_action, "rest": _heuristic_in_compiler(env) if env.takes_models else None}


def _heuristic_in_compiler(env: CompilerEnv) -> Decide:
    """Return the policy that delegates to the compiler's own heuristic, agent by agent: networks, the one thing here that needs torch."""
    from mlcb_gym.agents.heuristic import Heuristic
    from mlcb_gym.agents.team import Team
    from mlcb_gym.rollout.network_policy import InCompiler

    own = Team({agent.name: Heuristic(str(agent.heuristic), agent.advice["choices"]) for agent in env.task_spec.agents})
    return InCompiler(own, env)(own)


def _at_least(least: int, **option: int) -> int:
    ((name, value),) = option.items()
    if value < least:
        raise TaskError(f"{name}={value}: expected {least} or more")
    return value
