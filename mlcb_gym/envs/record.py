# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The task record: everything particular to a task beside its tensors, its passes and its environment.

Training, search, evaluation, export and the command line read it; none of them knows a task by its name.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import numpy as np

from mlcb_gym.pipelines import OZ

Observation = dict[str, Any]
Parameters = Mapping[str, Any]
Action = np.int64 | int | np.ndarray
"""An index, or, of an agent that gives a value, an array [1] with it."""


class FeatureKind(StrEnum):
    """The scaling of a tensor in a network. A tensor without a kind becomes ``asinh`` of its elements.

    - ``FRACTION``: between 0 and 1, taken as it is.
    - ``TOTALS``: instructions now and at the start: their logarithms, and the difference of these. The first one divides what is ``EXTENSIVE``.
    - ``EXTENSIVE``: sums over a module: ``asinh``, and the ratio to the module's instructions.
    - ``THRESHOLD``: compared by the compiler with a threshold of a few instructions: ``asinh``, and unscaled up to a limit.
    - ``FEW``: counts of which none, one or two are worlds apart: ``asinh``, and one-hot.
    - ``WEIGHT``: spans many orders of magnitude, infinite where it must not happen: the logarithm, and whether it is infinite.
    - ``COST``: of code that may run seldom or often, below 0 where it saves: about the logarithm, with its sign, and whether it is infinite.
    - ``ACTIONS``: indices of actions: one-hot, -1 for none.
    """

    FRACTION = "fraction"
    TOTALS = "totals"
    EXTENSIVE = "extensive"
    THRESHOLD = "threshold"
    FEW = "few"
    WEIGHT = "weight"
    COST = "cost"
    ACTIONS = "actions"


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """Another outcome of an episode than what its decisions lead to, which the compiler finds and measures itself.

    Args:
        arguments: of the environment that measures it, beside those of the policy that is evaluated.
        columns: its ratios, as ``TaskRecord.columns``.
        guarded: as ``TaskRecord.guarded``; None where it is guarded itself.
    """

    arguments: Mapping[str, Any]
    columns: Mapping[str, tuple[str, str]]
    guarded: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class ReferencePolicy:
    """A policy that does not learn, for evaluations to compare with.

    Args:
        choose: its action on an observation.
        arguments: of the environment that it plays in, beside those of the policy that is evaluated.
        alternative: the outcome that counts; by default that of its actions.
    """

    choose: Callable[[Observation], Action]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    alternative: Alternative | None = None


@dataclass(frozen=True, kw_only=True)
class StockWay:
    """A way to use stock LLVM that needs no policy; by default the usual one.

    Args:
        passes: as ``opt -passes`` reads them.
        code: options of ``llc``.
        of_programs: it is for modules that are whole programs, with ``main``.
    """

    passes: str = OZ
    code: Sequence[str] = ()
    of_programs: bool = False


SMALLER = {
    "-Oz, neither LSR nor machine LICM": StockWay(code=("-disable-lsr", "-disable-machine-licm")),
    "-Oz, internalised": StockWay(passes=f"internalize<preserve-gv=main>,{OZ}", of_programs=True),
}
"""Ways to smaller code."""


def equal_priority(observation: Observation) -> float:
    """Return 1: every decision is as likely to be searched as any other."""
    return 1.0


def no_candidates(parameters: Parameters) -> Sequence[int]:
    """Return no action."""
    return ()


def actions_set_options(parameters: Parameters) -> bool:
    """Return whether an action sets options of LLVM.

    >>> actions_set_options({"actions": ["function(sroa)", "{inline-threshold=50} default<Oz>"]})
    True
    """
    return any("{" in text for text in parameters.get("actions", ()))


@dataclass(frozen=True, kw_only=True)
class TaskRecord:
    """Facts about a task that the tools need.

    Args:
        corpus: the programs that it is trained on and judged by.
        recipe: the algorithm that suits it.
        network: the kind of network: ``mlp`` over all features; ``columns``, one perceptron that rates every choice by its own numbers; ``graph``,
            over the dependences of a loop; ``value``, the heuristic's own value corrected.
        features: the kinds of its tensors.
        score: weights of tensors with a number for each choice, whose weighted sum is what the compiler's own heuristic goes by, the highest first:
            a network of ``columns`` begins as near to a choice as this is to that of the heuristic's.
        evaluator: what its policies are judged by: ``metrics`` of modules, or the ``run_time`` of executables.
        evaluation: arguments of the environment in an evaluation by metrics.
        columns: the ratios of an evaluation: a metric to the one that the compiler's own heuristic comes to. The first is the one that counts.
        guarded: the same of the objective where the guard keeps the heuristic's result function by function; by default program by program.
        guardable: whether the compiler's guard can compare what a policy decides with the heuristic.
        in_place: whether a policy takes the place of the compiler's optimizations.
        sets_options: from the parameters of a policy to whether it sets options of LLVM, which are one to all threads of a link.
        baseline: the name of the compiler's own heuristic in tables.
        reference_policies: policies that do not learn, by name.
        portfolios: sequences of such policies, by name, of which the best of the first K counts.
        stock_ways: ways to use stock LLVM, by name, to compare with where sizes count.
        random: arguments of the environment that random episodes are played in, beside those of the policy that is evaluated.
        separable: whether what a decision saves does not depend on the other decisions of its episode.
        candidates: from the parameters of a policy to the actions that ``-mlcb-candidates`` tries in its place, in this order: those that a decision
            allows, where decisions are separable; else each as the one decision of an episode. None where it asks the policy.
        ranked: whether the policy orders the candidates of a decision, the one it prefers first; else they are tried in the order of the list.
        measured_candidates: from K to what ``-mlcb-candidates=K`` makes of a policy's episode, where it tries something else than actions and
            the compiler measures it.
        search_priority: how likely a decision is to be searched; more than 0.
        equivalence_key: from an observation and an action to what the action settles for good; None where it settles nothing. Sequences that settle
            the same one after another make the same program.
        fixed_sequences: from pipeline texts to the arguments of an environment in which an action is one of them, followed by the end of the
            episode; None where the actions are no pipelines.
        usual_sequences: pipeline texts that are tried as fixed sequences beside those that a search found.
        parity: the corpus that runtimes are compared on.
        expected: the result of a short training with the default recipe: the options of `mlcb train`, and the ratio of the validation programs before
            and after, with seed, machine and commit.
    """

    corpus: str = "default"
    recipe: str = "ppo"
    network: Literal["mlp", "columns", "graph", "value"] = "mlp"
    features: Mapping[str, FeatureKind] = field(default_factory=dict)
    score: Mapping[str, float] = field(default_factory=dict)
    evaluator: Literal["metrics", "run_time"] = "metrics"
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    guarded: tuple[str, str] | None = None
    guardable: bool = True
    in_place: bool = False
    sets_options: Callable[[Parameters], bool] = actions_set_options
    baseline: str = "default"
    reference_policies: Mapping[str, ReferencePolicy] = field(default_factory=dict)
    portfolios: Mapping[str, Sequence[ReferencePolicy]] = field(default_factory=dict)
    stock_ways: Mapping[str, StockWay] = field(default_factory=dict)
    random: Mapping[str, Any] = field(default_factory=dict)
    separable: bool = False
    candidates: Callable[[Parameters], Sequence[int]] = no_candidates
    ranked: bool = False
    measured_candidates: Callable[[int], Alternative] | None = None
    search_priority: Callable[[Observation], float] = equal_priority
    equivalence_key: Callable[[Observation, int], Hashable | None] | None = None
    fixed_sequences: Callable[[Sequence[str]], Mapping[str, Any]] | None = None
    usual_sequences: Sequence[str] = ()
    parity: str = "embedded"
    expected: str = ""
