# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Phase ordering: the choice of the pass sub-sequence that runs next."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import ProgramsLike
from mlcb_gym.envs.action_lists import Actions, read_actions
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.fixed_sequences import FixedSequences
from mlcb_gym.envs.objective import NOTHING, Metrics, Objective, objective_of
from mlcb_gym.envs.options import CompilerOptions
from mlcb_gym.envs.record import SMALLER, FeatureKind, Observation, Parameters, ReferencePolicy, TaskRecord
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.errors import TaskError
from mlcb_gym.pipelines import O2, OS, OZ

STOP = "stop"
MAX_STEPS = 15
UNOPTIMIZED = "unoptimized"
RATIO = ("size", "size_oz")
"""Policies are compared by size, whatever they are rewarded for."""
START = {
    "unoptimized": {"size": "size_unoptimized"},
    "Oz": {"size": "size_oz", "throughput": "throughput_oz", "ir_instructions": "ir_instructions_oz"},
}
"""For each start state, metrics of the first state, and those of the last that are equal to them."""


def rewards(start: str) -> dict[str, Objective]:
    """Return the rewards by name, for episodes from a start state."""
    return {
        "size": _saved("size", "text", start=start),
        "throughput": _saved("throughput", start=start),
        "poset": Objective(("size", "size_unoptimized", "size_oz", "throughput", "throughput_oz"), _poset, ratio=RATIO),
        "instructions": _saved("ir_instructions", start=start),
        "none": replace(NOTHING, ratio=RATIO),
    }


def _saved(metric: str, *beside: str, start: str) -> Objective:
    """The decrease of a metric, in units of its value after -Oz."""
    names, equal = (metric, *beside), START.get(start, START["Oz"]).get(metric)  # the compiler refuses any other start
    first = None if equal is None else {metric: equal}
    return Objective((*names, *map(_after_oz, names)), partial(_decrease, metric), first=first, ratio=RATIO)


def _decrease(metric: str, before: Metrics, after: Metrics) -> float:
    return (before[metric] - after[metric]) / max(after[_after_oz(metric)], 1.0)


def _after_oz(metric: str) -> str:
    return f"{metric}_oz"


def _poset(before: Metrics, after: Metrics) -> float:
    reachable = max(after["size_unoptimized"] - after["size_oz"], 0.01 * after["size_oz"]) or 1.0
    return 10 * _clip((before["size"] - after["size"]) / reachable) + 5 * _clip(_decrease("throughput", before, after))


def _clip(change: float, bound: float = 0.2) -> float:
    return min(max(change, -bound), bound)


PIPELINES = {
    "-Oz + iroutliner": f"{OZ} ; iroutliner",
    f"{OS}, minsize kept": OS,
    f"{O2}, minsize kept": O2,
}
"""Obvious fixed sequences. They are not -Os and -O2: every function has ``minsize``, as for -Oz, and keeps it."""

CLANG = {
    "clang -Os": f"{{force-remove-attribute=minsize}} forceattrs ; {OS}",
    "clang -O2": f"{{force-remove-attribute=minsize,force-remove-attribute=optsize}} forceattrs ; {O2}",
}
"""The pipelines of clang at its other levels, whose functions have other attributes. A policy for -Oz may not choose them."""


def fixed_sequences(texts: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of an environment in which the one action of an episode is one of these texts."""
    return {"actions": [*texts, STOP], "start": UNOPTIMIZED, "max_steps": 1}


def whole_sequences(parameters: Parameters) -> list[int]:
    """Return the actions that are whole sequences: all but ``stop``, where an episode is one decision."""
    return [index for index, text in enumerate(parameters["actions"]) if text != STOP and parameters["max_steps"] == 1]


def _references(found: FixedSequences) -> tuple[dict[str, ReferencePolicy], dict[str, list[ReferencePolicy]]]:
    """Return the fixed sequences as policies, in one environment: those with a name, and the coreset."""
    named = {"-Oz": OZ, **PIPELINES, **CLANG, "best fixed sequence": found.best_fixed}
    texts = list(dict.fromkeys([*named.values(), *found.coreset]))
    arguments = fixed_sequences(texts)

    def playing(text: str) -> ReferencePolicy:
        index = texts.index(text)
        return ReferencePolicy(choose=lambda observation: index, arguments=arguments)

    return {name: playing(text) for name, text in named.items()}, {"coreset": [playing(text) for text in found.coreset]}


REFERENCES, PORTFOLIOS = _references(FixedSequences.shipped("posetrl"))


class PosetRLEnv(CompilerEnv):
    """Choose, one by one, the pass sub-sequences that make a module small and fast.

    ## Description
    LLVM's ``-Oz`` runs the same passes in the same order on every program, although each pass depends on the code that the one before leaves.
    Here a policy orders them: at every step it observes the module and chooses the sub-sequence of passes that runs next, after POSET-RL
    (ISPASS 2022), in an unmodified LLVM 22. One step is one sub-sequence over the whole module.

    ## Action Space
    ``Discrete(n)``, one for each pipeline text in ``actions``; ``stop``, where it is listed, ends the episode. A text is what ``opt -passes``
    takes, in stages, each optionally with global options before it: ``{inline-threshold=25} default<Oz> ; iroutliner``.
    ``info["action_mask"]`` is 1 for the actions that are allowed: not for one that cannot change the module, or is forbidden.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``native/tasks/posetrl.def``:

    {observations}

    ## Rewards
    - ``"size"``: (size before - size after) / size of ``-Oz``, where size is the bytes of all allocated sections of the object file but BSS.
      The return of an episode is the decrease in size since its start, in units of the size that ``-Oz`` reaches.
    - ``"throughput"``: the same for llvm-mca cycles, weighted by block frequency and call counts.
    - ``"poset"``: the paper's, 10 clip(decrease in size / max(unoptimised - Oz, 1 % of Oz), ±0.2) + 5 clip(decrease in cycles / cycles of Oz, ±0.2).
    - ``"instructions"``: the same as ``"size"`` for IR instructions, without generating code.
    - ``"none"``: 0, and nothing is measured.

    A metric of ``-Oz`` below 1 counts as 1. An illegal action, or one that the compiler does not survive, makes the return -1.

    ## Starting State
    A program drawn from ``programs``, or ``options={"program": uri}``, after ``always-inline``; with ``start="Oz"`` after ``-Oz``.

    ## Episode End
    Terminated by ``stop``, after ``max_steps`` decisions, when every action is masked, by an illegal action, or when the compiler crashes or
    exceeds its limits on what was chosen. Truncated when the machine fails (the worker is killed): no reward, and ``info["error"]``.

    ## Arguments
    | argument | default | meaning |
    |---|---|---|
    | ``actions`` | ``"default"`` | a list that ships (``"default"``, ``"odg"``, ...), a file with one pipeline text a line, or the texts |
    | ``reward`` | ``"size"`` | see Rewards; or an ``Objective`` of your own |
    | ``observation`` | ``"flow-aware"`` | kind of IR2Vec embedding; the other is ``"symbolic"`` |
    | ``dense`` | True | measure after every step; otherwise at the end alone, where the whole return is paid |
    | ``start`` | ``"unoptimized"`` | state at the first decision; the other is ``"Oz"`` |
    | ``max_steps`` | 15 | decisions at most |
    | ``unique`` | False | whether an action may be taken once only |
    {arguments}

    {imports}
    >>> actions = ["function(mem2reg)", "default<Oz>", "stop"]
    >>> env = gymnasium.make("PosetRL-v0", programs="embedded/train/fft", actions=actions, session=ScriptedCompiler())
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> info["program"], round(reward, 3)
    ('embedded/train/fft', 0.01)
    {first_version}
    """

    task = "posetrl"
    record = TaskRecord(
        features={
            "progress": FeatureKind.FRACTION,
            "instructions": FeatureKind.TOTALS,
            "last_actions": FeatureKind.ACTIONS,
            **dict.fromkeys(("embedding", "opcodes", "properties"), FeatureKind.EXTENSIVE),
        },
        evaluation={"dense": False, "metrics": ("llvm_seconds",)},
        columns={name: (name, f"{name}_oz") for name in ("size", "text")},
        in_place=True,
        baseline="-Oz",
        reference_policies=REFERENCES,
        portfolios=PORTFOLIOS,
        stock_ways=SMALLER,
        random={"actions": "default", "start": UNOPTIMIZED, "max_steps": MAX_STEPS},
        candidates=whole_sequences,
        fixed_sequences=fixed_sequences,
        usual_sequences=(OZ, *PIPELINES.values(), f"{OZ} ; iroutliner ; {OZ}"),
        expected="--programs embedded/train --iterations 5: 1.3377 before, 1.0144 after (seed 1, 2 cores, commit 4ae805c)",
    )
    parameters = ("actions", "start", "max_steps", "unique", "observation")

    def __init__(
        self,
        *,
        programs: ProgramsLike = "embedded/train",
        actions: Actions = "default",
        reward: str | Objective = "size",
        observation: str = "flow-aware",
        start: str = UNOPTIMIZED,
        max_steps: int = MAX_STEPS,
        unique: bool = False,
        dense: bool = True,
        **options: Unpack[CompilerOptions],
    ) -> None:
        objective = replace(reward, ratio=reward.ratio or RATIO) if isinstance(reward, Objective) else objective_of(reward, rewards(start))
        if objective.first is None and not dense:
            raise TaskError(f"dense=False: from start={start!r} this reward is only known step by step")
        self._start = start
        parameters = {
            "actions": read_actions(actions),
            "observation": observation,
            "vocabulary": toolchain.vocabulary_digest(),
            "start": start,
            "max_steps": max_steps,
            "unique": unique,
        }
        super().__init__(programs=programs, parameters=parameters, objective=objective, dense=dense, **options)

    @property
    def actions(self) -> list[str]:
        """The pipeline text of every action."""
        return list(self.task_spec.parameters["actions"])

    def default_action(self, observation: Observation) -> int:
        """Return -Oz at first, then ``stop``.

        Raises:
            TaskError: it is none of the actions.
        """
        text = STOP if observation["progress"] > 0 or self._start == "Oz" else OZ
        if text not in self.actions:
            raise TaskError(f"actions: {text!r}, what LLVM would do, is not among them")
        return self.actions.index(text)


PosetRLVectorEnv = partial(CompilerVectorEnv, PosetRLEnv)
