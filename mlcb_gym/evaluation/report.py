# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy against everything that does not learn, on the same programs; and phase ordering's."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from rich.progress import track
from rich.table import Table

from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.evaluation.statistics import Estimate, estimate
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import PARALLEL, Script, episode, play_in_order, replay
from mlcb_gym.rollout.random_policy import random
from mlcb_gym.rollout.trace import Trace
from mlcb_gym.search.fixed_sequences import CLANG, PIPELINES, Baselines
from mlcb_gym.session import WorkerSession

OZ, POLICY, BEST_FIXED, SEARCH = "-Oz", "policy", "best fixed sequence", "search"
COUNTS = (1, 10)
"""Of how many episodes the best is taken, where nobody says otherwise."""
RANDOM: Mapping[str, Any] = {"actions": "default", "max_steps": 10}
"""What random episodes are drawn from, whatever the policy chooses among."""
PAIRS = ((POLICY, BEST_FIXED), (POLICY, SEARCH))
"""Methods that are compared with one another, program by program."""


@dataclass
class Evaluation:
    """What every method made of every program, by method, in the order of ``programs``.

    Args:
        projects: that of each program.
        metrics: what ``size`` and ``text`` are of: the metric, and that of the baseline.
        measure: what ``size`` is called.
        baseline: the method that all else is compared with.
        size: what ``metrics`` says, by default bytes of all allocated sections that are not BSS, to the baseline's.
        text: bytes of the executable ones, likewise; None where it was not measured.
        seconds: what LLVM worked, on passes and observations but not on code, for all episodes together where the best of several is taken;
            None where one of them failed, or where it was not measured.
        failures: what the compiler said where it failed; such a program counts with ``FAILED_RATIO``, for its end alone would be measured.
    """

    policy: str
    programs: list[str]
    projects: list[str]
    metrics: Mapping[str, tuple[str, str]] = field(default_factory=lambda: {"size": ("size", "size_oz"), "text": ("text", "text_oz")})
    size: dict[str, list[float]] = field(default_factory=dict)
    text: dict[str, list[float | None]] = field(default_factory=dict)
    seconds: dict[str, list[float | None]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    measure: str = "size"
    baseline: str = OZ

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Those of ``PAIRS`` that were evaluated."""
        return [pair for pair in PAIRS if set(pair) <= set(self.size)]

    @property
    def title(self) -> str:
        """What the methods are compared on."""
        return f"{len(self.programs)} programs of {len(set(self.projects))} projects"

    def add(self, method: str, traces: Sequence[Trace]) -> None:
        """One trace per program."""
        self.add_best(method, [traces])

    def add_best(self, method: str, tried: Sequence[Sequence[Trace]]) -> None:
        """The smallest of several traces per program."""
        by_program = list(zip(*tried, strict=True))
        traces = [min(traces, key=lambda t: t.scored_in(*self.metrics["size"])) for traces in by_program]
        self.failures += [f"{method}: {t.program}: {t.error}" for t in traces if t.error]
        self.size[method] = [t.scored_in(*self.metrics["size"]) for t in traces]
        self.text[method] = [t.scored_in(*self.metrics["text"]) for t in traces]
        self.seconds[method] = [_sum([t.seconds for t in traces]) for traces in by_program]

    def add_baseline(self, traces: Sequence[Trace]) -> None:
        """What all else is compared with: 1 by definition, so that its episodes tell the time alone."""
        self.add(self.baseline, traces)
        self.size[self.baseline], self.text[self.baseline] = [1.0] * len(self.programs), [1.0] * len(self.programs)

    def add_guarded(self, method: str, guarded: str) -> None:
        """``method`` where it is smaller than the baseline, else that."""
        smaller = [ratio < 1 for ratio in self.size[method]]
        self.size[guarded] = [r if keep else 1.0 for r, keep in zip(self.size[method], smaller, strict=True)]
        self.text[guarded] = [r if keep else 1.0 for r, keep in zip(self.text[method], smaller, strict=True)]
        self.seconds[guarded] = [None] * len(self.programs)

    def add_ratios(self, method: str, ratios: Sequence[float]) -> None:
        """A method of which no more is known."""
        self.size[method] = list(ratios)
        self.text[method], self.seconds[method] = [None] * len(ratios), [None] * len(ratios)

    def estimates(self, method: str, other: str | None = None) -> dict[str, Estimate | None]:
        """The ratio of two methods, by default to the baseline, paired program by program, in every measure: ``size``, ``text``, and ``time``,
        None where it is not known."""
        measures: dict[str, Mapping[str, Sequence[float | None]]] = {"size": self.size, "text": self.text, "time": self.seconds}
        return {name: self._estimate(values[method], values[other or self.baseline]) for name, values in measures.items()}

    def table(self) -> Table:
        """Geometric means with 95 % intervals; the last rows compare methods with one another."""
        size, text, time = (f"{what} / {self.baseline}" for what in (self.measure, "text", "time"))
        columns = (size, "95 % by program", "95 % by project", text, time, "LLVM ms", "smaller", "larger")
        table = Table(
            "method", *columns, title=self.title, caption="time: LLVM's on the CPU, on passes and observations; LLVM ms: of a program, on average"
        )
        for method, ratios in self.size.items():
            wins = (sum(r < 1 for r in ratios), sum(r > 1 for r in ratios))
            table.add_row(method, *_cells(self.estimates(method)), _milliseconds(self.seconds[method]), *map(str, wins))
        table.add_section()
        for method, other in self.pairs:
            table.add_row(f"{method} / {other}", *_cells(self.estimates(method, other)))
        return table

    def to_json(self) -> dict[str, Any]:
        """Everything, and what the table shows of it: in ``summary`` the methods, in ``paired`` two with one another."""
        paired = {f"{method} / {other}": _plain(self.estimates(method, other)) for method, other in self.pairs}
        return {"summary": {method: _plain(self.estimates(method)) for method in self.size}, "paired": paired, **asdict(self)}

    def write(self, folder: Path) -> None:
        """Writes ``evaluation.json`` and ``evaluation.png``."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "evaluation.json").write_text(json.dumps(self.to_json(), indent=1) + "\n")
        plot(self, folder / "evaluation.png")

    def _estimate(self, own: Sequence[float | None], others: Sequence[float | None]) -> Estimate | None:
        known = [(a / b, project) for a, b, project in zip(own, others, self.projects, strict=True) if a is not None and b is not None]
        return estimate(*zip(*known, strict=True)) if known else None


Env = TypeVar("Env", bound=CompilerEnv)


class Bench(Generic[Env]):
    """The programs of an evaluation in several compilers at once: the time that they tell is of their own thread.

    Args:
        make_env: an environment whose compiler nobody else uses.
    """

    def __init__(self, make_env: Callable[[], Env], programs: Sequence[Program]) -> None:
        self.envs = [make_env() for _ in range(PARALLEL)]
        self._programs = programs

    def run(self, script: Callable[[Program], Script[Trace]], label: str) -> list[Trace]:
        """One trace per program, in their order, with its time."""
        return play_in_order(self.envs, map(script, track(self._programs, description=label, transient=True, disable=not sys.stdout.isatty())))

    def add_random(self, evaluation: "Evaluation", counts: Sequence[int], seed: int) -> None:
        """Adds the best of so many random episodes a program, for each of the counts."""
        tried = [self.run(partial(random_episode, seed=(seed, i)), f"random {i + 1}") for i in range(max(counts))]
        for count in counts:
            evaluation.add_best(f"random, best of {count}", tried[:count])


def evaluate_policy(
    folder: Path, programs: ProgramsLike, *, counts: Sequence[int] = COUNTS, baselines: Baselines | None = None, seed: int = 1
) -> Evaluation:
    """Evaluates a policy folder, alone (one greedy episode) and against what does not learn.

    Args:
        counts: of how many random episodes, and of how many sequences of the coreset, the best is taken.
    """
    policy = OnnxPolicy(folder)
    baselines = baselines or Baselines.shipped(policy.manifest["task"])
    chosen = resolve(programs)
    evaluation = Evaluation(str(folder.name), [p.name for p in chosen], [p.project for p in chosen])
    with closing(WorkerSession()) as session:
        make_env = partial(PosetRLEnv, session=session, programs=chosen, metrics=("llvm_seconds",), dense=False)
        bench = Bench(partial(make_env, **policy.env_arguments), chosen)
        evaluation.add(POLICY, bench.run(partial(episode, choose=policy.choose), POLICY))
        evaluation.add_guarded(POLICY, f"{POLICY}, guarded")
        _add_fixed(evaluation, Bench(partial(make_env, actions=_texts(baselines), max_steps=1), chosen), baselines, counts)
        Bench(partial(make_env, **RANDOM), chosen).add_random(evaluation, counts, seed)
    return evaluation


def _add_fixed(evaluation: Evaluation, bench: Bench[PosetRLEnv], baselines: Baselines, counts: Sequence[int]) -> None:
    texts = _texts(baselines)

    def run(text: str) -> list[Trace]:
        return bench.run(lambda program: replay(program, (texts.index(text),)), text[:40])

    evaluation.add_baseline(run("default<Oz>"))
    for method, text in _fixed(baselines).items():
        evaluation.add(method, run(text))
    tried = [run(text) for text in baselines.coreset[: max(counts)]]
    for count in counts:
        if count <= len(tried):
            evaluation.add_best(f"coreset, best of {count}", tried[:count])


def _fixed(baselines: Baselines) -> dict[str, str]:
    return PIPELINES | CLANG | {BEST_FIXED: baselines.best_fixed}


def _texts(baselines: Baselines) -> list[str]:
    return list(dict.fromkeys(["default<Oz>", *_fixed(baselines).values(), *baselines.coreset, "stop"]))


def random_episode(program: Program, seed: tuple[int, int]) -> Script[Trace]:
    """An episode that depends on the program and the seed alone."""
    return episode(program, random(np.random.default_rng([*seed, int(program.digest[:8], 16)])))


def _sum(seconds: Sequence[float | None]) -> float | None:
    known = [s for s in seconds if s is not None]
    return sum(known) if len(known) == len(seconds) else None


def _plain(estimates: Mapping[str, Estimate | None]) -> dict[str, Any]:
    return {measure: None if found is None else asdict(found) for measure, found in estimates.items()}


def _cells(estimates: Mapping[str, Estimate | None]) -> list[str]:
    """The columns of a table from the size to the time."""
    size, text, time = (estimates[measure] for measure in ("size", "text", "time"))
    assert size is not None
    means = (f"{text.mean:.4f}" if text else "", f"{time.mean:.2f}" if time else "")
    return [f"{size.mean:.4f}", str(size.by_program), str(size.by_project), *means]


def _milliseconds(seconds: Sequence[float | None]) -> str:
    known = [s for s in seconds if s is not None]
    return f"{1e3 * np.mean(known):.1f}" if known else ""


def plot(evaluation: Evaluation, path: Path) -> None:
    """Every program's ratio, sorted, one line a method; beside its name what the table says of it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 5.5), layout="constrained")
    colour = pyplot.get_cmap("tab20")
    for i, (method, ratios) in enumerate(evaluation.size.items()):
        size, _, _, _, time = _cells(evaluation.estimates(method))
        emphasised = method == POLICY
        label = f"{method}: {size}" + (f", time {time}" if time else "")
        axes.plot(sorted(ratios), label=label, color=colour(i), linewidth=2.5 if emphasised else 1, zorder=3 if emphasised else 2)
    axes.axhline(1.0, color="black", linewidth=0.8)
    pairs = [(pair, _cells(evaluation.estimates(*pair))) for pair in evaluation.pairs]
    said = [f"{method} / {other}: {size}, by project {by_project}" for (method, other), (size, _, by_project, *_) in pairs]
    axes.set(title=", ".join([evaluation.title, *said]), xlabel="programs, sorted for each method", ylim=(0.6, 1.2))
    axes.set_ylabel(f"{evaluation.measure} / {evaluation.measure} of {evaluation.baseline}")
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
