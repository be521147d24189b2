# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FunctionPosetRL: by which passes each function is optimized, and with which attributes its code is generated."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

from mlcb_gym.corpus.programs import ProgramsLike
from mlcb_gym.envs.action_lists import Actions
from mlcb_gym.envs.function_size import FunctionSizeEnv, everywhere
from mlcb_gym.envs.options import CompilerOptions
from mlcb_gym.envs.record import Parameters
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.pipelines import LIGHT

LIST = "functions"


def all_of(parameters: Parameters) -> Sequence[int]:
    """Return all actions."""
    return range(len(parameters["actions"]))


class FunctionPosetRLEnv(FunctionSizeEnv):
    """Decide, function by function, by which passes it is optimized and with which attributes its code is generated, so that it gets small.

    ## Description
    ``-Oz`` runs the same passes over every function. Which of them make its code smaller, and which larger, differs from function to function, and
    so do the attributes that suit it (see ``FunctionSize-v0``). Here a module is inlined and cleaned up by a light pipeline first. Then a policy
    chooses for each function the passes that are run over it, and its attributes. One step is one function. What is chosen for one function hardly
    changes the code of another one, so that sizes add up.

    ## Action Space
    ``Discrete(n)``, one for each text in ``actions``: passes of a function as ``opt -passes`` takes them, with options before them if need be, and
    before these changes of attributes, as ``-minsize ; sroa,instcombine,simplifycfg``. The first one has passes alone: it is taken where nobody
    is asked. ``info["action_mask"]`` is 1 for those that leave the function right: attributes as in ``FunctionSize-v0``, passes but over functions
    that are to be left alone.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``native/tasks/function_posetrl.def``:

    {observations}

    ## Rewards
    - ``"size"``: (default - final) / default, in bytes of all allocated sections but BSS, unwind tables included; default is the size by ``-Oz``.
    - ``"text"``: the same for bytes of ``.text``.
    - ``"weighted"``: the same for both: the size, and ``text_weight`` times the bytes of ``.text``.
    - ``"none"``: 0, and nothing is measured.

    The reward is paid at the end. With ``dense`` every step is paid the decrease in size since the last one, the first one that since ``-Oz``, so
    that the return is the same. An illegal action, or one that the compiler does not survive, makes the return -1.

    ## Starting State
    A program drawn from ``programs``, or ``options={"program": uri}``, after the light pipeline, at its first function that has a choice. A program
    without any is drawn again; where it was given, ``NoDecisions`` is raised.

    ## Episode End
    Terminated when all functions are decided, by an illegal action, or when the compiler crashes or exceeds its limits on what was chosen. Truncated
    when the machine fails (the worker is killed): no reward, and ``info["error"]``.

    ## Arguments
    | argument | default | meaning |
    |---|---|---|
    | ``actions`` | ``"functions"`` | the list that ships, a file with one text a line, or the texts |
    | ``pipeline`` | ``LIGHT`` of ``mlcb_gym.pipelines`` | pipeline before the decisions, in the place of ``-Oz`` |
    | ``reward`` | ``"size"`` | see Rewards |
    | ``text_weight`` | 1.0 | see Rewards |
    | ``without`` | () | what the code generator leaves out in every module: ``"lsr"``, ``"machine-licm"``, ...; the size of ``-Oz`` is with it |
    | ``dense`` | False | measure before every decision, and pay by that; otherwise at the end alone |
    {arguments}

    {imports}
    >>> env = gymnasium.make("FunctionPosetRL-v0", programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> info["size"] / info["size_default"] if terminated else None
    1.0
    {first_version}
    """

    task = "function_posetrl"
    record = replace(
        FunctionSizeEnv.record,
        in_place=True,
        candidates=all_of,
        ranked=True,
        reference_policies={f"{name} of the list, everywhere": everywhere(index, LIST) for index, name in enumerate(("first", "second"))},
    )

    def __init__(
        self,
        *,
        programs: ProgramsLike = "embedded/train",
        actions: Actions = LIST,
        pipeline: str = LIGHT,
        text_weight: float = 1.0,
        without: Sequence[str] = (),
        reward: str = "size",
        dense: bool = False,
        **options: Unpack[CompilerOptions],
    ) -> None:
        super().__init__(
            programs=programs, actions=actions, pipeline=pipeline, text_weight=text_weight, without=without, reward=reward, dense=dense, **options
        )


FunctionPosetRLVectorEnv = partial(CompilerVectorEnv, FunctionPosetRLEnv)
