# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop distribution: the partition of innermost loops before they are vectorized."""

from collections.abc import Hashable
from functools import partial
from typing import Unpack

import numpy as np

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import ProgramsLike
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.objective import NOTHING, objective_of, relative
from mlcb_gym.envs.options import CompilerOptions
from mlcb_gym.envs.record import Action, Observation, TaskRecord
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.errors import TaskError
from mlcb_gym.pipelines import O3
from mlcb_gym.spec import MASK, acting_agent

REWARDS = {
    "cost": relative("cost", "text"),
    "throughput": relative("throughput", "text"),
    "text": relative("text", "size"),
    "time": relative("seconds"),
    "none": NOTHING,
}

FORBIDDABLE: tuple[set[int], ...] = (set(), {0}, {1})
"""The sets of the distributor's actions that can be forbidden."""

DISTRIBUTOR = 1
NODES = 3
"""Index in ``loop`` of the number of nodes."""


def partition(observation: Observation, action: int) -> Hashable | None:
    """Return the part of each node of the loop, where this action places the last one; None before. Actions in another order often make the same
    partition."""
    agent, seen = acting_agent(observation)
    nodes, part = int(seen["loop"][NODES]), seen["part"]
    if agent != DISTRIBUTOR or int((part[:nodes] < 0).sum()) > 1:
        return None
    place = int(seen["chosen"].item())
    parts = part[:nodes].tolist()
    parts[place] = max(parts) + action
    return tuple(parts)


class LoopDistributionEnv(CompilerEnv):
    """Split innermost loops, statement by statement, into loops that are vectorized well.

    ## Description
    A loop with statements that cannot be vectorized is not vectorized at all; one that accesses many arrays exceeds the cache. Distribution makes
    each part of it a loop of its own. Here two agents take turns to partition every innermost loop of a program, after RL-LoopDistribution
    (LLVM-HPC 2022), before the vectorizer of an unmodified LLVM 22. Statements that depend on each other in a cycle are one node, and stay together.
    The ``selector`` chooses the node that is placed next, among those whose predecessors are placed; the ``distributor`` decides whether a new part
    begins with it. Every partition computes the same. Where there is only one choice, there is no decision.

    ## Action Space
    ``Discrete(64)``. For the selector, a node; for the distributor, 1 to begin a new part with the node, 0 to put it into the last one.
    ``info["action_mask"]`` is 1 for the actions that are allowed.

    ## Observation Space
    A ``Dict``: ``agent``, 0 where the selector acts, 1 where the distributor does; and for each of them a ``Dict`` of the tensors declared in
    ``native/tasks/loop_distribution.def``, all zeros for the agent that does not act. Axes of nodes are padded with zeros; the last element of
    ``loop`` is the number of nodes.

    {observations}

    ``mlcb_gym.envs.multi_agent`` and ``mlcb_gym.envs.aec`` make it an environment of two agents for RLlib and PettingZoo.

    ## Rewards
    - ``"cost"``: (default - final) / default, for LLVM's cost model of the instructions in loops, each as often as it runs; default is the cost
      after ``pipeline`` without any distribution. It does not include latencies and caches.
    - ``"throughput"``: the same for llvm-mca's cycles of the program, weighted by block frequency and call counts. It does not include caches either,
      and block frequencies underestimate loops that are vectorized.
    - ``"text"``: the same for bytes of ``.text``.
    - ``"time"``: the same for the seconds that the program runs. It is compiled in memory, with the code generator of ``clang -O3``, and run
      alternately with the program without any distribution, 8 times each in processes of their own (fewer, but at least 3, after 5 seconds); the
      least time counts, and nothing is cached. A program that defines ``double mlcb_seconds(void)``, as the kernels do, returns its own time; for any
      other it is the CPU time of ``main``, called without arguments. One program at a time is timed on a machine. Rewards and ``info`` differ
      from run to run: ``spec.nondeterministic``. A program that cannot be run, crashes, or takes more than 5 seconds of CPU, or the rest of the
      turn, is a ``CompilerError`` of ``reset``.
    - ``"none"``: 0, and nothing is measured.

    The reward is paid at the end. An illegal action, or one that the compiler does not survive, makes the return -1.

    ## Starting State
    A program drawn from ``programs``, or ``options={"program": uri}``, at its first decision. A program without any is replaced by
    another draw; where it was given, ``NoDecisions`` is raised.

    ## Episode End
    Terminated at the end of the pipeline, by an illegal action, or when the compiler crashes or exceeds its
    limits on what was chosen. Truncated when the machine fails (the worker is killed): no reward, and ``info["error"]``.

    ## Arguments
    | argument | default | meaning |
    |---|---|---|
    | ``programs`` | ``"loops/train"`` | paths of .c, .cpp, .bc or .ll files, folders, or names of corpora, ``loops/composed/0-99`` too |
    | ``pipeline`` | ``"default<O3>"`` | pipeline with the vectorizer that loops are distributed before, as ``opt -passes`` reads it |
    | ``reward`` | ``"cost"`` | see Rewards |
    | ``optsize`` | False | keep the attributes ``minsize`` and ``optsize``, which the shipped corpora have |
    | ``dimension`` | 300 | length of the IR2Vec embedding of a node; 0 for none |
    | ``dense`` | False | must be False: the rewards are known at the end alone |
    | ``forbidden`` | () | the distributor's action that is never allowed |
    {arguments}

    {imports}
    >>> env = gymnasium.make("LoopDistribution-v0", programs="loops/train/mixed_division", session=ScriptedCompiler(horizon=2))
    >>> observation, info = env.reset(seed=1)
    >>> env.unwrapped.agent.name
    'selector'
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> env.unwrapped.agent.name
    'distributor'
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> terminated
    True
    {first_version}
    """

    task = "loop_distribution"
    record = TaskRecord(
        corpus="loops",
        recipe="es",
        network="graph",
        evaluator="run_time",
        guardable=False,
        baseline="-O3",
        equivalence_key=partition,
        parity="loops",
    )
    parameters = ("pipeline", "optsize", "dimension")

    def __init__(
        self,
        *,
        programs: ProgramsLike = "loops/train",
        pipeline: str = O3,
        reward: str = "cost",
        optsize: bool = False,
        dimension: int = 300,
        dense: bool = False,
        **options: Unpack[CompilerOptions],
    ) -> None:
        if set(options.get("forbidden", ())) not in FORBIDDABLE:
            raise TaskError(f"forbidden={options['forbidden']}: expected the distributor's 0 or its 1, and not both")
        if dense:
            raise TaskError(f"dense=True: {reward} is known at the end alone")
        vocabulary = toolchain.vocabulary_digest() if dimension else ""
        parameters = {"pipeline": pipeline, "optsize": optsize, "dimension": dimension, "vocabulary": vocabulary}
        super().__init__(programs=programs, parameters=parameters, objective=objective_of(reward, REWARDS), **options, dense=False)

    def default_action(self, observation: Observation) -> Action:
        """Return the first allowed action: nodes are placed in their order, and the loop stays whole."""
        return int(np.flatnonzero(acting_agent(observation)[1][MASK])[0])


LoopDistributionVectorEnv = partial(CompilerVectorEnv, LoopDistributionEnv)
