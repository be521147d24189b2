# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Phase ordering: which pass sub-sequence runs next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from mlcb_gym import _native, toolchain
from mlcb_gym.envs.compiler_env import CompilerEnv, Metrics
from mlcb_gym.envs.fixed_sequences import FixedSequences
from mlcb_gym.envs.record import FeatureKind, Observation, ReferencePolicy, TaskRecord
from mlcb_gym.envs.vector import CompilerVectorEnv
from mlcb_gym.errors import TaskError

STARTS = ("unoptimized", "Oz")
OZ, STOP = "default<Oz>", "stop"
MAX_STEPS = 15
Actions = str | Path | Sequence[str]


@dataclass(frozen=True)
class Reward:
    """A reward of phase ordering.

    Args:
        metrics: what it needs of every state.
        of_step: what a step earns, from the metrics before it and after it.
        baselines: for each start state, the metric that still tells at the end what another one was at the start. Where it is missing,
            what an episode earned cannot be told from its end alone.
    """

    metrics: tuple[str, ...]
    of_step: Callable[[Metrics, Metrics], float]
    baselines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def start(self, final: Metrics, start: str) -> Metrics:
        """The metrics of the first state, from those of the last."""
        return {name: final[baseline] for name, baseline in self.baselines[start].items()}


def _size(before: Metrics, after: Metrics) -> float:
    return (before["size"] - after["size"]) / after["size_oz"]


def _throughput(before: Metrics, after: Metrics) -> float:
    return (before["throughput"] - after["throughput"]) / max(after["throughput_oz"], 1.0)


def _poset(before: Metrics, after: Metrics) -> float:
    reachable = max(after["size_unoptimized"] - after["size_oz"], 0.01 * after["size_oz"])
    return 10 * _clip((before["size"] - after["size"]) / reachable) + 5 * _clip(_throughput(before, after))


def _clip(change: float, bound: float = 0.2) -> float:
    return min(max(change, -bound), bound)


def _instructions(before: Metrics, after: Metrics) -> float:
    return (before["ir_instructions"] - after["ir_instructions"]) / after["ir_instructions_oz"]


REWARDS = {
    "size": Reward(("size", "text", "size_oz", "text_oz"), _size, {"unoptimized": {"size": "size_unoptimized"}, "Oz": {"size": "size_oz"}}),
    "throughput": Reward(("throughput", "throughput_oz"), _throughput, {"Oz": {"throughput": "throughput_oz"}}),
    "poset": Reward(("size", "size_unoptimized", "size_oz", "throughput", "throughput_oz"), _poset),
    "instructions": Reward(("ir_instructions", "ir_instructions_oz"), _instructions, {"Oz": {"ir_instructions": "ir_instructions_oz"}}),
    "none": Reward((), lambda before, after: 0.0, {"unoptimized": {}, "Oz": {}}),
}


def read_actions(actions: Actions) -> list[str]:
    """The pipeline texts of an action space: the name of a list that ships, a text file with one a line, or the texts themselves.

    Raises:
        TaskError: there is no such list.
    """
    if not isinstance(actions, (str, Path)):
        return list(actions)
    shipped = Path(str(files("mlcb_gym").joinpath(f"data/actions/{actions}.txt")))
    path = shipped if shipped.exists() else Path(actions)
    try:
        lines = path.read_text().splitlines()
    except OSError:
        names = sorted(p.stem for p in shipped.parent.glob("*.txt"))
        raise TaskError(f"actions={str(actions)!r}: neither a file nor one of {', '.join(names)}") from None
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


PIPELINES = {
    "-Oz + iroutliner": f"{OZ} ; iroutliner",
    "default<Os>, minsize kept": "default<Os>",
    "default<O2>, minsize kept": "default<O2>",
}
"""Fixed sequences that anybody would try. They are no -Os and no -O2: every function carries ``minsize``, as for -Oz, and keeps it."""

CLANG = {
    "clang -Os": "{force-remove-attribute=minsize} forceattrs ; default<Os>",
    "clang -O2": "{force-remove-attribute=minsize,force-remove-attribute=optsize} forceattrs ; default<O2>",
}
"""What clang itself makes at its other levels, whose functions carry other attributes. Nothing that a policy for -Oz may choose."""


def fixed_sequences(texts: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of an environment in which the one action of an episode is one of these texts."""
    return {"actions": [*texts, STOP], "start": STARTS[0], "max_steps": 1}


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
    LLVM's ``-Oz`` runs the same passes in the same order on every program, although what one pass leaves decides what the next can do.
    Here a policy orders them: at every step it sees the module and picks the sub-sequence of passes that runs next. After POSET-RL
    (ISPASS 2022), on an unmodified LLVM 22. One step is one sub-sequence over the whole module.

    ## Action Space
    ``Discrete(n)``, one for each pipeline text in ``actions``; ``stop``, where it is listed, ends the episode. A text is what ``opt -passes``
    takes, with global options around it where wanted, in stages: ``{inline-threshold=25} default<Oz> ; iroutliner``.
    ``info["action_mask"]`` says what is allowed: an action that cannot change the module, or is forbidden, is not.

    ## Observation Space
    A ``Dict`` of the tensors declared in ``native/tasks/posetrl.def``:

    {observations}

    ## Rewards
    - ``"size"``: (size before - size after) / size of ``-Oz``, where size is the bytes of all allocated sections of the object file but BSS.
      The return of an episode is what it saved since its start, in units of the size that ``-Oz`` reaches.
    - ``"throughput"``: the same for llvm-mca cycles, weighted by block frequency and call counts.
    - ``"poset"``: 10 clip(saved size / max(unoptimised - Oz, 1 % of Oz), ±0.2) + 5 clip(saved cycles / cycles of Oz, ±0.2), the paper's.
    - ``"instructions"``: the same as ``"size"`` for IR instructions, without generating code.
    - ``"none"``: 0, and nothing is measured.

    An illegal action, or one that the compiler does not survive, makes the return -1.

    ## Starting State
    A program drawn uniformly from ``programs``, or ``options={"program": uri}``, after ``always-inline``; with ``start="Oz"`` after ``-Oz``.

    ## Episode End
    Terminated by ``stop``, after ``max_steps`` decisions, when every action is masked, by an illegal action, or when the compiler crashes or
    exceeds its limits on what was chosen. Truncated when the machine fails (the worker is killed): no reward, and ``info["error"]``.

    ## Arguments
    | argument | default | meaning |
    |---|---|---|
    | ``programs`` | ``"embedded/train"`` | paths of .c, .cpp, .bc or .ll files, folders, or names of corpora |
    | ``actions`` | ``"default"`` | ``"default"``, ``"odg"``, ``"manual"``, a file with one pipeline text a line, or the texts |
    | ``reward`` | ``"size"`` | see Rewards; or a ``Reward`` of your own |
    | ``observation`` | ``"flow-aware"`` | kind of IR2Vec embedding; the other is ``"symbolic"`` |
    | ``dense`` | True | measure after every step; otherwise at the end alone, where the whole return is paid |
    | ``start`` | ``"unoptimized"`` | state at the first decision; the other is ``"Oz"`` |
    | ``max_steps`` | 15 | decisions at most |
    | ``unique`` | False | whether an action may be taken once only |
    | ``forbidden`` | () | indices of actions that are never allowed |
    | ``target``, ``limits``, ``verify``, ``session`` | | see ``CompilerEnv`` |

    >>> import gymnasium, mlcb_gym
    >>> from mlcb_gym.testing import ScriptedCompiler  # in earnest, leave out the session: an own worker is started
    >>> actions = ["function(mem2reg)", "default<Oz>", "stop"]
    >>> env = gymnasium.make("PosetRL-v0", programs="embedded/train/fft", actions=actions, session=ScriptedCompiler())
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> info["program"], round(reward, 3)
    ('embedded/train/fft', 0.01)
    >>> env.close()

    ## Version History
    * v0: first version.
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
        baseline="-Oz",
        reference_policies=REFERENCES,
        portfolios=PORTFOLIOS,
        random={"actions": "default", "start": STARTS[0], "max_steps": MAX_STEPS},
        fixed_sequences=fixed_sequences,
        usual_sequences=(OZ, *PIPELINES.values(), f"{OZ} ; iroutliner ; {OZ}"),
    )
    parameters = ("actions", "start", "max_steps", "unique", "observation")

    def __init__(
        self,
        *,
        programs: Any = "embedded/train",
        actions: Actions = "default",
        reward: str | Reward = "size",
        observation: str = "flow-aware",
        start: str = "unoptimized",
        max_steps: int = MAX_STEPS,
        unique: bool = False,
        dense: bool = True,
        metrics: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        if isinstance(reward, str) and reward not in REWARDS:
            raise TaskError(f"reward={reward!r}: expected one of {', '.join(REWARDS)}")
        self._reward = REWARDS[reward] if isinstance(reward, str) else reward
        self._start = start
        parameters = {
            "actions": read_actions(actions),
            "observation": observation,
            "vocabulary": _native.digest(toolchain.vocabulary().read_bytes()),
            "start": start,
            "max_steps": max_steps,
            "unique": unique,
        }
        super().__init__(programs=programs, parameters=parameters, metrics=(*self._metrics_wanted(dense), *metrics), dense=dense, **kwargs)

    @property
    def actions(self) -> list[str]:
        """The pipeline text of every action."""
        return list(self.task_spec.parameters["actions"])

    @property
    def objective(self) -> tuple[str, str]:
        """Phase ordering is objective by size, whatever it is rewarded for."""
        return "size", "size_oz"

    def reward(self, before: Metrics, after: Metrics) -> float:
        """See Rewards."""
        return self._reward.of_step(before, after)

    def default_action(self, observation: Observation) -> int:
        """-Oz, and then nothing more."""
        text = STOP if observation["progress"] > 0 or self._start == "Oz" else OZ
        if text not in self.actions:
            raise TaskError(f"actions: {text!r}, what LLVM would do, is not among them")
        return self.actions.index(text)

    def measured_at_start(self, final: Metrics) -> Metrics:
        """A baseline measures the start state too."""
        return self._reward.start(final, self._start)

    def _metrics_wanted(self, dense: bool) -> tuple[str, ...]:
        if dense or self._start not in STARTS:  # which the compiler refuses
            return self._reward.metrics
        if self._start not in self._reward.baselines:
            raise TaskError(f"dense=False: from start={self._start!r} this reward is only known step by step")
        return tuple(dict.fromkeys([*self._reward.metrics, *self._reward.baselines[self._start].values()]))


PosetRLVectorEnv = partial(CompilerVectorEnv, PosetRLEnv)
