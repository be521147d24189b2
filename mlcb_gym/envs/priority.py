# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Priority: in which order LLVM's own register allocator takes live ranges."""

from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.envs.regalloc import RegAllocEnv, record
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.session import PRIORITY

HIGHEST = 2.0**32
"""LLVM has priorities in 32 bits. A power of two: nothing is lost where an action is multiplied by it."""


def same_for_all(observation: Observation) -> np.ndarray:
    """Return the same priority for every live range."""
    return np.zeros(1, np.float32)


def small_first(observation: Observation) -> np.ndarray:
    """Return the priority of a live range by its size, the opposite of what LLVM does."""
    return 1 / (1 + observation["li_size"].astype(np.float32))


class PriorityEnv(RegAllocEnv):
    """Decide in which order LLVM's greedy register allocator takes live ranges, so that a program spills little.

    ## Description
    LLVM's greedy allocator keeps the live ranges that have no register yet in a queue. What comes first finds registers free; what comes late evicts,
    or is split or spilled. LLVM takes the global before the local, and the large before the small. Here a policy gives the priorities, after MLGO's
    successors, inside an unmodified LLVM 22. One step is one range that enters the queue.

    ## Action Space
    ``Box(0, 1, (1,), float32)``: the priority, in units of 2^32; the highest comes first. A policy that is exported gives it in LLVM's own units, as
    ``priority_default`` is. What equals that is exactly LLVM's own answer, which has more bits than a float: of equal ones LLVM's order remains.
    To a stock compiler it is the float, cut to an integer.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``native/tasks/priority.def``, the first three of which LLVM declares to a model:

    {observations}

    ## Rewards
    - ``"cost"``: (default - final) / default, where the cost is what MLGO's rewards are made of: copies (0.2), loads (4), stores (1) and
      rematerialisations (0.2 or 1) right after allocation, each times how often its block runs for each entry of its function, summed over the
      functions; and default is what LLVM's own advisor comes to.
    - ``"cost_guarded"``: the same where each function keeps LLVM's own allocation if that costs less, as ``-mlcb-guard`` has it.
    - ``"text"``, ``"throughput"``: the same for bytes of ``.text``; for llvm-mca cycles, weighted by block frequency and call counts.
    - ``"none"``: 0, and nothing is measured.

    It is paid at the end. With ``dense``, every step is paid what the functions that were finished since the last question cost less than by
    default; the return is the same.

    An illegal action, or one that the compiler does not survive, makes the return -1.

    ## Starting State
    A program drawn uniformly from ``programs``, or ``options={"program": uri}``, at the first range. A program without any is drawn again; where
    it was given, ``NoDecisions`` is raised.

    ## Episode End
    Terminated when all functions of the module have their registers, by an illegal action, or when the compiler crashes or exceeds its limits on
    what was chosen. Truncated when the machine fails (the worker is killed): no reward, and ``info["error"]``. With ``episode="function"`` also when
    one function has its registers; the next ``reset`` goes on with the next one, and another program is drawn only when the module is through,
    or a seed or a program is given.

    ## Arguments
    | argument | default | meaning |
    |---|---|---|
    | ``programs`` | ``"embedded/train"`` | paths of .c, .cpp, .bc or .ll files, folders, or names of corpora |
    | ``pipeline`` | ``"default<O2>"`` | what runs before code generation, as ``opt -passes`` reads it; ``""`` for nothing, as ``llc`` |
    | ``reward`` | ``"cost"`` | see Rewards; of a stock compiler ``"text"`` |
    | ``optsize`` | False | keep the attributes ``minsize`` and ``optsize``, which the shipped corpora have; a stock compiler does |
    | ``told`` | 1 | whether LLVM's own answer is observed, and all beyond LLVM's three; a stock compiler does not tell it |
    | ``dense`` | False | be told the cost at every question; otherwise at the end alone |
    | ``episode`` | ``"module"`` | or ``"function"``: an episode of each function that is asked about, paid by its own cost |
    | ``compiler`` | ``"plugin"`` | who asks: our worker, or an untouched ``clang`` (``llc`` without a pipeline): ``"stock"`` |
    | ``target``, ``limits``, ``verify``, ``session`` | | see ``CompilerEnv``; ``verify`` runs LLVM's verifier on what was allocated |

    A stock compiler speaks over LLVM's interactive channel, a process for each episode. It knows no ``cost`` and no ``throughput``, no ``dense``,
    ``target``, ``verify``, and no ``fork``.

    >>> import gymnasium, mlcb_gym
    >>> from mlcb_gym.testing import ScriptedCompiler  # in earnest, leave out the session: an own worker is started
    >>> env = gymnasium.make("RegAllocPriority-v0", programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(env.unwrapped.default_action(observation))
    >>> info["program"], info["cost"], info["cost_default"], terminated
    ('embedded/train/fft', 990.0, 990.0, True)
    >>> env.close()

    ## Version History
    * v0: first version.
    """

    task = "priority"
    record = record("value", same=same_for_all, small_first=small_first)
    heuristic = "priority_default"
    advisor = PRIORITY

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.action_space = spaces.Box(0, 1, (1,), np.float32)

    def advice(self, action: Action) -> float:
        """The priority in LLVM's units."""
        return super().advice(action) * HIGHEST

    def action(self, advice: float) -> Action:
        """A priority in LLVM's units as an action. One outside of them is the nearest that there is, as in the compiler; NaN stays NaN."""
        return super().action(float(np.clip(advice / HIGHEST, 0, 1)))


PriorityVectorEnv = partial(CompilerVectorEnv, PriorityEnv)
