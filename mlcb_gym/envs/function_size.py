# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FunctionSize: with which attributes the code of each function is generated."""

from collections.abc import Sequence
from functools import partial
from typing import Unpack

from mlcb_gym.corpus.programs import ProgramsLike
from mlcb_gym.envs.action_lists import Actions, read_actions
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.objective import NOTHING, default_of, objective_of, relative
from mlcb_gym.envs.options import CompilerOptions
from mlcb_gym.envs.record import SMALLER, FeatureKind, Observation, Parameters, ReferencePolicy, TaskRecord
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.pipelines import OZ
from mlcb_gym.spec import MASK

REWARDS = {
    "size": relative("size", "text"),
    "text": relative("text", "size"),
    "weighted": relative("weighted", "size", "text"),
    "none": NOTHING,
}

LIST = "attributes"


def everywhere(index: int, actions: str = LIST) -> ReferencePolicy:
    """Return the policy that takes an action of a list that ships wherever it may, and the first one in all other functions."""

    def choose(observation: Observation) -> int:
        return index if observation[MASK][index] else 0

    return ReferencePolicy(choose=choose, arguments={"actions": actions})


def changes(parameters: Parameters) -> Sequence[int]:
    """Return all actions but ``keep``."""
    return range(1, len(parameters["actions"]))


class FunctionSizeEnv(CompilerEnv):
    """Decide, function by function, with which attributes code is generated, so that it gets small.

    ## Description
    ``-Oz`` compiles every function alike. But which instructions are the shortest differs from function to function: with ``minsize``, constants and
    arguments are pushed, and each push takes three bytes of the unwind table; with a frame pointer it takes none, and what lies on the stack is
    reached by shorter instructions, for a few bytes at the function's begin and end. Both are attributes of functions. Here a policy chooses them
    for each function with ``minsize``, after all passes have run. One step is one function.

    ## Action Space
    ``Discrete(n)``, one for each text in ``actions``: ``keep``, which is the first, or changes with spaces between, as
    ``-minsize +frame-pointer=all``. ``info["action_mask"]`` is 1 for those that change the function and leave it right: no frame pointer
    beside inline assembly, no end of tail calls where a chain of them may come back or leave the module, so that no stack grows
    without bounds.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``native/tasks/function_size.def``:

    {observations}

    ## Rewards
    - ``"size"``: (default - final) / default, in bytes of all allocated sections but BSS, unwind tables included; default is the size after the
      pipeline without a policy.
    - ``"text"``: the same for bytes of ``.text``.
    - ``"weighted"``: the same for both: the size, and ``text_weight`` times the bytes of ``.text``.
    - ``"none"``: 0, and nothing is measured.

    The reward is paid at the end. With ``dense`` every step is paid the decrease in size since the last one, so that the return is the same. An
    illegal action, or one that the compiler does not survive, makes the return -1.

    ## Starting State
    A program drawn from ``programs``, or ``options={"program": uri}``, after the pipeline, at its first function that has a choice. A program
    without any is drawn again; where it was given, ``NoDecisions`` is raised.

    ## Episode End
    Terminated when all functions are decided, by an illegal action, or when the compiler crashes or exceeds its limits on what was chosen. Truncated
    when the machine fails (the worker is killed): no reward, and ``info["error"]``.

    ## Arguments
    | argument | default | meaning |
    |---|---|---|
    | ``actions`` | ``"attributes"`` | the list that ships, a file with one text a line, or the texts |
    | ``pipeline`` | ``"default<Oz>"`` | pipeline before the decisions |
    | ``reward`` | ``"size"`` | see Rewards |
    | ``text_weight`` | 1.0 | see Rewards |
    | ``without`` | () | what the code generator leaves out in every module: ``"lsr"``, ``"machine-licm"``, ...; default sizes are with it |
    | ``dense`` | False | measure before every decision, and pay by that; otherwise at the end alone |
    {arguments}

    {imports}
    >>> env = gymnasium.make("FunctionSize-v0", programs="embedded/train/fft", session=ScriptedCompiler(horizon=1))
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> info["size"] / info["size_default"] if terminated else None
    1.0
    {first_version}
    """

    task = "function_size"
    record = TaskRecord(
        features={
            "instructions": FeatureKind.TOTALS,
            **dict.fromkeys(("properties", "entities", "constants", "widths", "calls"), FeatureKind.EXTENSIVE),
        },
        columns={metric: (metric, default_of(metric)) for metric in ("size", "text")},
        baseline="-Oz",
        separable=True,
        candidates=changes,
        stock_ways=SMALLER,
        reference_policies={f"{text}, everywhere": everywhere(index) for index, text in enumerate(read_actions(LIST)) if index},
    )
    parameters = ("pipeline", "actions", "text_weight", "without")

    def __init__(
        self,
        *,
        programs: ProgramsLike = "embedded/train",
        actions: Actions = LIST,
        pipeline: str = OZ,
        text_weight: float = 1.0,
        without: Sequence[str] = (),
        reward: str = "size",
        dense: bool = False,
        **options: Unpack[CompilerOptions],
    ) -> None:
        parameters = {"pipeline": pipeline, "actions": read_actions(actions), "text_weight": text_weight, "without": list(without)}
        super().__init__(programs=programs, parameters=parameters, objective=objective_of(reward, REWARDS), dense=dense, **options)

    @property
    def actions(self) -> list[str]:
        """The text of every action."""
        return list(self.task_spec.parameters["actions"])


FunctionSizeVectorEnv = partial(CompilerVectorEnv, FunctionSizeEnv)
