# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inlining: the decision at every call of LLVM's own inliner."""

import json
from functools import partial
from typing import Any, Unpack

import numpy as np

from mlcb_gym import _native, toolchain
from mlcb_gym.corpus.programs import ProgramsLike
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.module_measure import module_measure
from mlcb_gym.envs.objective import NOTHING, default_of, objective_of, relative
from mlcb_gym.envs.options import CompilerOptions
from mlcb_gym.envs.record import SMALLER, FeatureKind, Observation, ReferencePolicy, TaskRecord
from mlcb_gym.envs.stock import UNKNOWN, compiler_of
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.pipelines import OZ
from mlcb_gym.session import INLINER, StockSession
from mlcb_gym.spec import MASK

REWARDS = {
    "size": relative("text", "size"),
    "object": relative("size", "text"),
    "instructions": relative("ir_instructions"),
    "throughput": relative("throughput"),
    "none": NOTHING,
}

NO_EMBEDDING = "none"

GROWTH = 2.0
"""LLVM's own factor (``-ml-advisor-size-increase-threshold``): any other is an option that a policy sets."""

STOCK = ("-passes={pipeline}", "-ml-advisor-size-increase-threshold={growth}")
"""The arguments of an untouched ``opt``, beside those of its advisor."""

NOT_STOCK = {**UNKNOWN, "embedding": NO_EMBEDDING, "context": 0}
"""Arguments that a stock compiler does not know, with the values that ask for nothing."""


def always(answer: int) -> ReferencePolicy:
    """Return the policy that takes the same action everywhere, where it is allowed."""

    def choose(observation: Observation) -> int:
        return answer if observation[MASK][answer] else int(np.flatnonzero(observation[MASK])[0])

    return ReferencePolicy(choose=choose)


def search_priority(observation: Observation) -> float:
    """Return how promising the other decision is: most where a callee may be discarded, or where LLVM's cost is close to its threshold."""

    def of(name: str) -> int:
        return int(observation[name].item()) if name in observation else 0

    cost, calls = of("cost_estimate"), of("callee_calls")
    if of("inlining_default"):
        return 0.15 if of("callee_discardable") else 1.0
    if of("callee_discardable") and calls <= 2 and not of("callee_left"):
        return 1.0 if cost < 500 or calls == 1 else 0.1
    return 0.5 if cost < 100 else 0.15 if cost < 200 else 0.02


FEATURES = {
    **dict.fromkeys(("cost_estimate", "callsite_cost", "callee_instructions", "caller_instructions"), FeatureKind.THRESHOLD),
    **dict.fromkeys(("callee_calls", "callee_left", "callee_inlined", "callee_users", "caller_calls"), FeatureKind.FEW),
}


class InlinerEnv(CompilerEnv):
    """Decide, call site by call site, which calls LLVM's inliner inlines, so that a program gets small.

    ## Description
    LLVM's inliner visits the call graph bottom-up and decides at every call whether to inline it. Its own heuristic adds up costs and compares
    them with a threshold; but the effect of inlining shows only when the code around it has been optimised. Here a policy decides, after MLGO
    (arXiv 2101.04808), inside an unmodified LLVM 22: LLVM's ``MLInlineAdvisor`` computes the features of its own models. Calls that must or must
    not be inlined are no decisions, nor are recursive ones: there LLVM's heuristic decides (in an untouched compiler, recursive calls are not
    inlined). One step is one call site.

    ## Action Space
    ``Discrete(2)``: 1 inlines the call, 0 leaves it. ``info["action_mask"]`` is 1 for both, unless one is ``forbidden``.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``native/tasks/inliner.def``, the first 38 of which LLVM declares:

    {observations}

    ## Rewards
    - ``"size"``: (default - final) / default, in bytes of ``.text``, where default is the size after the same pipeline with LLVM's own heuristic.
    - ``"object"``: the same for all allocated sections but BSS, the tables of stack unwinding included.
    - ``"instructions"``, ``"throughput"``: the same for IR instructions, without generating code; for llvm-mca cycles, weighted by block
      frequency and call counts.
    - ``"none"``: 0, and nothing is measured.

    The reward is paid at the end. With ``dense`` every step is paid the decrease in size since the last decision, the first one since the default's
    size, so that the return is exactly the same; but the module is measured amid the pipeline, with only some of its functions optimised.

    An illegal action, or one that the compiler does not survive, makes the return -1.

    ## Starting State
    A program drawn from ``programs``, or ``options={"program": uri}``, at its first decision. A program without any is replaced by another
    draw; where it was given, ``NoDecisions`` is raised.

    ## Episode End
    Terminated at the end of the pipeline, by an illegal action, or when the compiler crashes or exceeds its limits on what was chosen. Once the
    module has grown by the factor ``growth``, there are no more decisions. Truncated when the machine fails (the worker is killed): no reward, and
    ``info["error"]``.

    ## Arguments
    | argument | default | meaning |
    |---|---|---|
    | ``pipeline`` | ``"default<Oz>"`` | pipeline with the inliner, as ``opt -passes`` reads it; ``"scc-oz-module-inliner"`` is the inliner alone |
    | ``reward`` | ``"size"`` | see Rewards |
    | ``embedding`` | ``"none"`` | IR2Vec embeddings of caller and callee: ``"symbolic"`` or ``"flow-aware"`` |
    | ``context`` | False | observe whether the callee can be discarded, and the decisions about other calls of it |
    | ``growth`` | 2.0 | factor by which the IR may grow |
    | ``dense`` | False | measure at every decision; otherwise at the end alone |
    {arguments}

    The stock compiler is an untouched ``opt``, a process for each episode, over LLVM's interactive channel. It has no ``dense``, ``embedding``,
    ``context``, ``forbidden``, ``target``, ``verify``, ``metrics``, and no ``fork``. Its ``default<Oz>`` is ``opt``'s, which differs from clang's in
    vectorising straight-line code.

    {imports}
    >>> env = gymnasium.make("Inliner-v0", programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> info["program"], info["text"], info["text_default"], terminated
    ('embedded/train/fft', 990, 990, True)
    {first_version}
    """

    task = "inliner"
    record = TaskRecord(
        recipe="mlgo",
        features=FEATURES,
        evaluation={"reward": "object"},
        columns={name: (name, default_of(name)) for name in ("size", "text")},
        baseline="-Oz",
        reference_policies={"always": always(1), "never": always(0)},
        stock_ways=SMALLER,
        sets_options=lambda parameters: parameters.get("growth", GROWTH) != GROWTH,
        search_priority=search_priority,
        expected="--programs embedded/train --iterations 6: 1.3514 before, 1.1111 after (seed 1, 2 cores, commit 4ae805c)",
    )
    parameters = ("pipeline", "growth", "embedding", "context")

    def __init__(
        self,
        *,
        programs: ProgramsLike = "embedded/train",
        pipeline: str = OZ,
        reward: str = "size",
        embedding: str = NO_EMBEDDING,
        context: bool = False,
        growth: float = GROWTH,
        dense: bool = False,
        compiler: str = "plugin",
        **options: Unpack[CompilerOptions],
    ) -> None:
        parameters = {"pipeline": pipeline, "growth": growth, "embedding": embedding, "context": int(context)} | _vocabulary(embedding)
        super().__init__(
            programs=programs,
            parameters=parameters,
            objective=objective_of(reward, REWARDS),
            dense=dense,
            new_session=compiler_of(compiler, _stock, {**parameters, "dense": dense, **options}, NOT_STOCK),
            **options,
        )


def _stock() -> StockSession:
    return StockSession("opt", STOCK, advisor=INLINER, measure=module_measure())


def _vocabulary(embedding: str) -> dict[str, Any]:
    """The parameters of the vocabulary of embeddings."""
    if embedding == NO_EMBEDDING:
        return {}
    text = toolchain.vocabulary().read_bytes()
    vector = next(iter(json.loads(text)["Opcodes"].values()))
    return {"dimension": len(vector), "vocabulary": _native.digest(text)}


InlinerVectorEnv = partial(CompilerVectorEnv, InlinerEnv)
