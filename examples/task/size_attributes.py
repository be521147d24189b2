# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SizeAttributes: which functions are optimized for the smallest size."""

from functools import partial
from typing import Unpack

import numpy as np

from mlcb_gym.corpus.programs import ProgramsLike
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.objective import NOTHING, objective_of, relative
from mlcb_gym.envs.options import CompilerOptions
from mlcb_gym.envs.record import Observation, ReferencePolicy, TaskRecord
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.spec import MASK

REWARDS = {"size": relative("size", "text"), "text": relative("text", "size"), "none": NOTHING}


def last_allowed(observation: Observation) -> int:
    """Return the last decision that is allowed, always."""
    return int(np.flatnonzero(observation[MASK])[-1])


class SizeAttributesEnv(CompilerEnv):
    """Decide, function by function, which are optimized for the smallest size.

    ## Description
    ``-Oz`` gives every function ``minsize``. Some come out smaller without it: with ``optsize``, LLVM unrolls, inlines and aligns more, and what that
    simplifies may outweigh it. A policy decides about every function that has a body, before the passes run. One step is one function.

    ## Action Space
    ``Discrete(2)``: 0 keeps ``minsize``, 1 leaves ``optsize`` alone. ``info["action_mask"]`` says what is allowed.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``size_attributes.def``:

    {observations}

    ## Rewards
    - ``"size"``: (default - final) / default, in bytes of all allocated sections but BSS; default is what ``-Oz`` reaches without a policy.
    - ``"text"``: the same for bytes of ``.text``.
    - ``"none"``: 0, and nothing is measured.

    It is paid at the end. An illegal action, or one that the compiler does not survive, makes the return -1.

    With ``dense`` every step is paid the decrease since the last one, the first one that since ``-Oz``: the return is the same. The passes run
    after the last decision, so the first step pays for the program as it is before them, and the last one is paid back: to learn, leave it out.

    ## Starting State
    A program drawn uniformly from ``programs``, or ``options={"program": uri}``, at its first function. A program without any is drawn again; where
    it was given, ``NoDecisions`` is raised.

    ## Episode End
    Terminated when all functions are decided and the passes are through, by an illegal action, or when the compiler crashes or exceeds its limits on
    what was chosen. Truncated when the machine fails (the worker is killed): no reward, and ``info["error"]``.

    ## Arguments
    | argument | default | meaning |
    |---|---|---|
    | ``reward`` | ``"size"`` | see Rewards |
    | ``dense`` | False | measure before every decision, and pay by that; otherwise at the end alone |
    {arguments}

    {imports}
    >>> import examples.task
    >>> env = gymnasium.make("SizeAttributes-v0", programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> info["size"] / info["size_default"] if terminated else None
    1.0
    {first_version}
    """

    task = "size_attributes"
    heuristic = "decision_default"
    record = TaskRecord(
        columns={metric: (metric, f"{metric}_default") for metric in ("size", "text")},
        guardable=False,
        baseline="-Oz",
        reference_policies={"always": ReferencePolicy(choose=last_allowed)},
    )

    def __init__(self, *, programs: ProgramsLike = "embedded/train", reward: str = "size", dense: bool = False, **options: Unpack[CompilerOptions]):
        super().__init__(programs=programs, parameters={}, objective=objective_of(reward, REWARDS), dense=dense, **options)


SizeAttributesVectorEnv = partial(CompilerVectorEnv, SizeAttributesEnv)
