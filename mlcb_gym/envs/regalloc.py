# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arguments, rewards and docstring passages that the environments of the register allocator share."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Required, Unpack

from mlcb_gym.corpus.programs import ProgramsLike
from mlcb_gym.envs.objective import NOTHING, Objective, default_of, objective_of, relative
from mlcb_gym.envs.options import CompilerOptions
from mlcb_gym.envs.record import Action, Alternative, FeatureKind, Observation, ReferencePolicy, TaskRecord
from mlcb_gym.envs.stock import compiler_of
from mlcb_gym.errors import TaskError
from mlcb_gym.pipelines import O2
from mlcb_gym.session import FunctionSession, Session, StockSession
from mlcb_gym.session.functions import FunctionCost
from mlcb_gym.session.objects import object_metrics

EXECUTED = FunctionCost("executed", "executed_default", "function_default_executed", "functions_saved_executed")
ALLOCATED = FunctionCost("cost", "cost_default", "function_default", "functions_saved")
COSTS = {"executed": EXECUTED, "allocated": ALLOCATED}
"""The costs that an environment can be about."""


def rewards(cost: FunctionCost) -> Mapping[str, Objective]:
    """Return the rewards of an environment that is about a cost, by name."""
    return {
        "cost": relative(cost.name, "text"),
        "cost_guarded": relative(f"{cost.name}_guarded", cost.name, "text"),
        "text": relative("text", "size"),
        "throughput": relative("throughput", cost.name),
        "time": relative("seconds", cost.name),
        "none": NOTHING,
    }


NOT_STOCK_REWARDS = ("cost", "cost_guarded", "throughput", "time")
"""The rewards that cannot be measured in an object file."""

EPISODES = ("module", "function")

LLC = ("-O2", "-filetype=obj", "-relocation-model=pic")
"""The arguments of an untouched ``llc``, which runs no pipeline before, beside those of its advisor."""

PARAMETERS = ("pipeline", "optsize", "told")

PASSAGES = {
    "sections": """
    ## Rewards
    {rewards}

    ## Starting State
    A program drawn from ``programs``, or ``options={"program": uri}``, at its first decision. A program without any is replaced by another
    draw; where it was given, ``NoDecisions`` is raised.

    ## Episode End
    {end}

    ## Arguments
    | argument | default | meaning |
    |---|---|---|
    {allocator}
""",
    "rewards": """
    - ``"cost"``: (default - final) / default, where the cost has the weights of MLGO's rewards: copies (0.2), loads (4), stores (1) and
      rematerialisations (0.2 or 1), each times the frequency of its block relative to the entry of its function, summed over the functions; and
      default is the cost with LLVM's own advisor. With ``cost="executed"`` of the code that is executed, where a callee-saved register costs
      its save and its restores; with ``"allocated"`` right after allocation, as MLGO takes it, where it is free.
    - ``"cost_guarded"``: the same where each function keeps LLVM's own allocation if that costs less; ``-mlcb-guard``
      keeps it in some more, so that the code does not grow.
    - ``"text"``, ``"throughput"``: the same for bytes of ``.text``; for llvm-mca cycles, weighted by block frequency and call counts.
    - ``"time"``: the same for the seconds that the program runs, measured in turns with that of LLVM's own advisor, as in ``LoopDistribution-v0``;
      it needs a ``main``.
    - ``"none"``: 0, and nothing is measured.

    The reward is paid at the end. With ``dense``, every step is paid the improvement over the default of the functions that were finished since the
    last decision; in ``RL4ReAl-v0`` also, negative, by how much the code of the function in progress costs more since then, which the end of the
    function pays back. The return is the same.

    An illegal action, or one that the compiler does not survive, makes the return -1.""",
    "end": """
    Terminated when all functions of the module are allocated, by an illegal action, or when the compiler crashes or exceeds its limits on what was
    chosen. Truncated when the machine fails (the worker is killed): no reward, and ``info["error"]``. With ``episode="function"`` also terminated
    when one function is allocated; the next ``reset`` goes on with the next function, and draws another program only after the last function, or
    when it is given a seed or a program.""",
    "allocator": """
    | ``pipeline`` | ``"default<O2>"`` | passes before code generation, as ``opt -passes`` reads them; ``""`` for none, as in ``llc`` |
    | ``reward`` | ``"cost"`` | see Rewards; ``"text"`` with a stock compiler |
    | ``cost`` | ``"executed"`` | or ``"allocated"``: see Rewards |
    | ``beside`` | ``""`` | fixed allocators that ``executed_candidates`` and ``executed_beside`` are of: names, or how many of those that ship |
    | ``optsize`` | False | keep the attributes ``minsize`` and ``optsize``, which the shipped corpora have; True with a stock compiler |
    | ``dense`` | False | measure the cost at every decision; otherwise at the end alone |
    | ``episode`` | ``"module"`` | or ``"function"``: an episode for each function with any decision, rewarded by its own cost |
    | ``verify`` | False | run LLVM's machine verifier after allocation |""",
    "stock": """
    The stock compiler is an untouched ``clang`` (``llc`` without a pipeline), a process for each episode, over LLVM's interactive channel. It has no
    cost and no ``throughput``, no ``dense``, ``forbidden``, ``target``, ``verify``, ``metrics``, and no ``fork``.""",
    "versions": """
    >>> env.close()

    ## Version History
    * v1: ``cost="executed"``.
    * v0: first version; ``cost="allocated"``.
""",
}
"""Passages of the docstrings."""


COSTS_OF_FIRST_USE = (16, 256, 4096, 8192, 16384, 32768, 65536)
"""The values of ``-regalloc-csr-first-time-cost`` that evaluations have a row of: what LLVM takes a first callee-saved register to cost, in units of
1/16384 of the times that a function is entered."""

PORTFOLIOS = (1, 2, 4, 8)
"""The numbers of fixed allocators, of the list that ships, of which evaluations have a row: the least of each function."""


def beside(fixed: str, *, alone: bool = False) -> Alternative:
    """Return what comes of an episode where some functions are allocated by fixed allocators: by what executes least, no more bytes in all.

    Args:
        fixed: as the argument ``beside`` of the environment.
        alone: all functions by the last one of them, without a guard.
    """
    best, last = ((f"executed_{which}", EXECUTED.default) for which in ("candidates", "beside"))
    arguments = {"beside": fixed, "metrics": (best[0], last[0])}
    return Alternative(arguments=arguments, columns={"cost": last if alone else best}, guarded=best if alone else None)


def other_allocators(own: Callable[[Observation], Action]) -> dict[str, ReferencePolicy]:
    """Return other allocators, which replace greedy in all functions; `optimum` only in those that are small enough."""
    return {name: ReferencePolicy(choose=own, alternative=beside(name, alone=True)) for name in ("basic", "fast", "pbqp", "optimum")}


def fixed_allocators(own: Callable[[Observation], Action]) -> dict[str, ReferencePolicy]:
    """Return the allocators that do not learn, beside those of a task's own answers.

    Args:
        own: LLVM's own answer.
    """
    rows = {f"csr {cost}": beside(f"csr {cost}", alone=True) for cost in COSTS_OF_FIRST_USE}
    rows |= {f"best of {count} fixed": beside(str(count)) for count in PORTFOLIOS}
    return {name: ReferencePolicy(choose=own, alternative=alternative) for name, alternative in rows.items()}


def record(
    network: Literal["columns", "value"], own: Callable[[Observation], Action], **reference_policies: Callable[[Observation], Action]
) -> TaskRecord:
    """Return the record of a task of the register allocator. Costs are compared with those of LLVM's own advisor; with the guard each function
    has the lower of both."""
    return TaskRecord(
        recipe="es",
        network=network,
        features={"progress": FeatureKind.FRACTION, "weight": FeatureKind.WEIGHT},
        evaluation={"reward": "cost_guarded", "cost": "executed", "metrics": (ALLOCATED.name, ALLOCATED.default)},
        columns={
            "cost": (EXECUTED.name, EXECUTED.default),
            "allocated": (ALLOCATED.name, ALLOCATED.default),
            "spills": ("spills", default_of("spills")),
            "text": ("text", default_of("text")),
        },
        guarded=(f"{EXECUTED.name}_guarded", EXECUTED.default),
        baseline="greedy",
        reference_policies={name.replace("_", " "): ReferencePolicy(choose=choose) for name, choose in reference_policies.items()}
        | fixed_allocators(own),
        measured_candidates=lambda count: beside(str(count - 1)),
    )


class RegAllocOptions(CompilerOptions, total=False):
    """The arguments of an environment of the register allocator, for type checkers; the docstrings of the environments have their meaning."""

    programs: ProgramsLike
    pipeline: str
    reward: str | None
    cost: str
    beside: str
    optsize: bool | None
    told: int | None
    dense: bool
    episode: str
    compiler: str


class EnvArguments(CompilerOptions, total=False):
    """The arguments of ``CompilerEnv``."""

    programs: Required[ProgramsLike]
    parameters: Required[Mapping[str, Any]]
    objective: Required[Objective]
    dense: bool
    new_session: Callable[[], Session]
    wrap: Callable[[Session], Session]


def env_arguments(
    advisor: Sequence[str],
    *,
    programs: ProgramsLike = "embedded/train",
    pipeline: str = O2,
    reward: str | None = None,
    cost: str = "executed",
    beside: str = "",
    optsize: bool | None = None,
    told: int | None = None,
    dense: bool = False,
    episode: str = EPISODES[0],
    compiler: str = "plugin",
    **options: Unpack[CompilerOptions],
) -> EnvArguments:
    """Return the arguments that make a ``CompilerEnv`` an environment of the register allocator.

    Args:
        advisor: the options of an untouched compiler that connect its advisor.

    Raises:
        TaskError: the arguments contradict each other.
    """
    stock = compiler == "stock"
    reward = reward or ("text" if stock else "cost")
    if cost not in COSTS:
        raise TaskError(f"cost={cost!r}: expected one of {', '.join(COSTS)}")
    _check(reward, dense=dense, episode=episode, metrics=options.get("metrics", ()))
    if stock and reward in NOT_STOCK_REWARDS:
        raise TaskError(f"reward={reward!r}: a stock compiler does not tell it, expected text or none, or compiler='plugin'")
    if stock and (optsize is False or told):
        raise TaskError("a stock compiler keeps minsize and optsize, and does not tell its own answer: expected optsize=True, told=0")
    return {
        "programs": programs,
        "parameters": {
            "pipeline": pipeline,
            "optsize": stock if optsize is None else optsize,
            "told": int(not stock) if told is None else told,
            "beside": beside,
        },
        "objective": objective_of(reward, rewards(COSTS[cost])),
        "dense": dense,
        "new_session": compiler_of(compiler, partial(_stock, pipeline, advisor), {"dense": dense, **options}),
        "wrap": partial(FunctionSession, cost=COSTS[cost]) if episode == "function" else _whole,
        **options,
    }


def stock_command(pipeline: str) -> tuple[str, tuple[str, ...]]:
    """Return the untouched compiler that runs a pipeline before it allocates, and its command line.

    Raises:
        TaskError: there is none.
    """
    if not pipeline:
        return "llc", LLC
    level = re.fullmatch(r"default<(O[123sz])>", pipeline)
    if level is None:
        raise TaskError(f"pipeline={pipeline!r}: a stock compiler runs its own, expected default<O1>, O2, O3, Os or Oz, or '' for llc")
    return "clang", (f"-{level[1]}", "-c", "-w")


def _check(reward: str, *, dense: bool, episode: str, metrics: Sequence[str]) -> None:
    if dense and reward not in ("cost", "none"):
        raise TaskError(f"dense=True: {reward} is paid at the end alone, expected reward='cost'")
    if episode not in EPISODES:
        raise TaskError(f"episode={episode!r}: expected one of {', '.join(EPISODES)}")
    if episode == "function" and (reward != "cost" or dense):
        raise TaskError(f"episode='function': reward={reward!r}, dense={dense}: expected reward='cost', which is known when it has its registers")
    if episode == "function" and metrics:
        raise TaskError(f"episode='function': metrics={tuple(metrics)}: cost alone is measured of a function, expected episode='module'")


def _stock(pipeline: str, advisor: Sequence[str]) -> StockSession:
    tool, arguments = stock_command(pipeline)
    return StockSession(tool, arguments, advisor=advisor, measure=object_metrics)


def _whole(session: Session) -> Session:
    """Episodes of whole modules."""
    return session
