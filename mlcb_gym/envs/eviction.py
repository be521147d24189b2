# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eviction: which live ranges make way in LLVM's own register allocator."""

from functools import partial

import numpy as np

from mlcb_gym.envs.record import Observation
from mlcb_gym.envs.regalloc import RegAllocEnv, record
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.session import EVICTION
from mlcb_gym.spec import MASK


def last_allowed(observation: Observation) -> int:
    """Return the column that evicts nothing, where that is allowed."""
    return int(np.flatnonzero(observation[MASK])[-1])


def first_allowed(observation: Observation) -> int:
    """Return the first register of the allocation order that may be evicted, always."""
    return int(np.flatnonzero(observation[MASK])[0])


class EvictionEnv(RegAllocEnv):
    """Decide, range by range, what makes way in LLVM's greedy register allocator, so that a program spills little.

    ## Description
    LLVM's greedy allocator gives live ranges registers, the largest first. One that finds none free may evict others, which are then lighter, and
    are allocated, split or spilled later; LLVM compares spill weights. What is best shows only when everything has its place. Here a policy
    answers, after MLGO (arXiv 2101.04808), inside an unmodified LLVM 22: LLVM's own advisor for models says what may be evicted, and computes what
    it would tell its own models. One step is one range that finds no register.

    ## Action Space
    ``Discrete(33)``: the column to evict, a physical register in allocation order; or 32 to evict nothing, and split or spill the range.
    ``info["action_mask"]`` says what is allowed. Where LLVM's own answer is none that a model may give, nobody is asked.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``native/tasks/eviction.def``, all but the last two of which LLVM declares:

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
    A program drawn uniformly from ``programs``, or ``options={"program": uri}``, at the first question. A program without any is drawn again; where
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
    | ``told`` | 1 | whether LLVM's own answer is observed; a stock compiler does not tell it |
    | ``dense`` | False | be told the cost at every question; otherwise at the end alone |
    | ``episode`` | ``"module"`` | or ``"function"``: an episode of each function that is asked about, paid by its own cost |
    | ``forbidden`` | () | columns that are never evicted |
    | ``compiler`` | ``"plugin"`` | who asks: our worker, or an untouched ``clang`` (``llc`` without a pipeline): ``"stock"`` |
    | ``target``, ``limits``, ``verify``, ``session`` | | see ``CompilerEnv``; ``verify`` runs LLVM's verifier on what was allocated |

    A stock compiler speaks over LLVM's interactive channel, a process for each episode. It knows no ``cost`` and no ``throughput``, no ``dense``,
    ``forbidden``, ``target``, ``verify``, and no ``fork``.

    >>> import gymnasium, mlcb_gym
    >>> from mlcb_gym.testing import ScriptedCompiler  # in earnest, leave out the session: an own worker is started
    >>> env = gymnasium.make("RegAllocEviction-v0", programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(32)
    >>> info["program"], info["cost"], info["cost_default"], terminated
    ('embedded/train/fft', 990.0, 990.0, True)
    >>> env.close()

    ## Version History
    * v0: first version.
    """

    task = "eviction"
    record = record("columns", never=last_allowed, first=first_allowed)
    heuristic = "eviction_default"
    advisor = EVICTION


EvictionVectorEnv = partial(CompilerVectorEnv, EvictionEnv)
