# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy of phase ordering against everything that does not learn, on the same programs."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from rich.table import Table

from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.export.parity import OnnxPolicy
from mlcb_gym.session import WorkerSession
from mlcb_gym.training.baselines import PIPELINES, Baselines
from mlcb_gym.training.policy import random
from mlcb_gym.training.rollouts import PARALLEL, Script, episode, play, replay
from mlcb_gym.training.statistics import Estimate, estimate
from mlcb_gym.training.traces import Trace


@dataclass
class Evaluation:
    """Ratios to -Oz, by method and program.

    Args:
        size: bytes of all allocated sections that are not BSS.
        text: bytes of the executable ones.
        failures: what the compiler said where it failed; such a program counts with ``FAILED_RATIO``, for its end alone would be measured.
    """

    policy: str
    programs: list[str] = field(default_factory=list)
    size: dict[str, list[float]] = field(default_factory=dict)
    text: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, method: str, traces: Sequence[Trace]) -> None:
        """One trace per program, in the order of ``programs``."""
        self.failures += [f"{method}: {t.program}: {t.error}" for t in traces if t.error]
        self.size[method] = [t.scored for t in traces]
        self.text[method] = [_text_ratio(t) for t in traces]

    def add_best(self, method: str, tried: Sequence[Sequence[Trace]]) -> None:
        """The smallest of several traces per program."""
        self.add(method, [min(traces, key=lambda t: t.scored) for traces in tried])

    def add_guarded(self, method: str, guarded: str) -> None:
        """``method`` where it is smaller than -Oz, else -Oz."""
        smaller = [ratio < 1 for ratio in self.size[method]]
        self.size[guarded] = [r if keep else 1.0 for r, keep in zip(self.size[method], smaller, strict=True)]
        self.text[guarded] = [r if keep else 1.0 for r, keep in zip(self.text[method], smaller, strict=True)]

    def estimates(self, ratios: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
        return {method: estimate(values) for method, values in ratios.items()}

    def table(self) -> Table:
        """Geometric means with 95 % intervals over programs."""
        table = Table("method", "size / -Oz", "95 %", "text / -Oz", "smaller", "larger", title=f"{len(self.programs)} programs")
        text = self.estimates(self.text)
        for method, size in self.estimates(self.size).items():
            ratios = self.size[method]
            table.add_row(
                method,
                f"{size.mean:.4f}",
                f"{size.low:.4f}-{size.high:.4f}",
                f"{text[method].mean:.4f}",
                str(sum(r < 1 for r in ratios)),
                str(sum(r > 1 for r in ratios)),
            )
        return table

    def to_json(self) -> dict[str, Any]:
        summary = {
            name: {method: vars(e) for method, e in self.estimates(ratios).items()} for name, ratios in (("size", self.size), ("text", self.text))
        }
        return {"summary": summary, **vars(self)}

    def write(self, folder: Path) -> None:
        """Writes ``evaluation.json`` and ``evaluation.png``."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "evaluation.json").write_text(json.dumps(self.to_json(), indent=1) + "\n")
        plot(self, folder / "evaluation.png")


def evaluate_policy(folder: Path, programs: ProgramsLike, *, episodes: int = 100, baselines: Baselines | None = None, seed: int = 1) -> Evaluation:
    """Evaluates a policy folder, alone (one greedy episode) and against what does not learn, at equal numbers of episodes."""
    policy = OnnxPolicy(folder)
    baselines = baselines or Baselines.shipped(policy.manifest["task"])
    chosen = resolve(programs)
    evaluation = Evaluation(str(folder.name), [p.name for p in chosen])
    with closing(WorkerSession()) as session:
        envs = _envs(session, chosen, **policy.env_arguments)
        evaluation.add("policy", _play(envs, chosen, lambda program: episode(program, policy.choose), "policy"))
        evaluation.add_guarded("policy", "policy, guarded")
        _add_fixed(evaluation, session, chosen, baselines)
        tried = [_play(envs, chosen, partial(_random, seed=(seed, i)), f"random {i + 1}") for i in range(episodes)]
        for count in (c for c in (1, 10, 100) if c <= episodes):
            evaluation.add_best(f"random, best of {count}", list(zip(*tried[:count], strict=True)))
    return evaluation


def _add_fixed(evaluation: Evaluation, session: WorkerSession, programs: Sequence[Program], baselines: Baselines) -> None:
    named = PIPELINES | {"best fixed sequence": baselines.best_fixed}
    texts = [*named.values(), *baselines.coreset]
    envs = _envs(session, programs, actions=[*dict.fromkeys(texts), "stop"], max_steps=1)
    index = {text: i for i, text in enumerate(dict.fromkeys(texts))}

    def run(text: str) -> list[Trace]:
        return _play(envs, programs, lambda program: replay(program, (index[text],)), text[:40])

    for method, text in named.items():
        evaluation.add(method, run(text))
    tried = [run(text) for text in baselines.coreset]
    for count in (c for c in (1, 10, 25, 100) if c <= len(tried)):
        evaluation.add_best(f"coreset, best of {count}", list(zip(*tried[:count], strict=True)))


def _envs(session: WorkerSession, programs: Sequence[Program], **arguments: Any) -> list[CompilerEnv]:
    return [PosetRLEnv(session=session, programs=programs, dense=False, **arguments) for _ in range(PARALLEL)]


def _play(envs: Sequence[CompilerEnv], programs: Sequence[Program], script: Callable[[Program], Script[Trace]], label: str) -> list[Trace]:
    """One trace per program, in their order."""
    played = track(play(envs, map(script, programs)), description=label, total=len(programs), transient=True)
    by_name = {trace.program: trace for trace in played}
    return [by_name[program.name] for program in programs]


def _random(program: Program, seed: tuple[int, int]) -> Script[Trace]:
    return episode(program, random(np.random.default_rng([*seed, int(program.digest[:8], 16)])))


def _text_ratio(trace: Trace) -> float:
    return trace.text / trace.text_oz if trace.error is None and trace.text and trace.text_oz else trace.scored


def plot(evaluation: Evaluation, path: Path) -> None:
    """Every program's ratio, sorted, one line a method."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    for method, ratios in evaluation.size.items():
        emphasised = method == "policy"
        label = f"{method}: {estimate(ratios).mean:.3f}"
        axes.plot(sorted(ratios), label=label, linewidth=2.5 if emphasised else 1, zorder=3 if emphasised else 2)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set(xlabel="programs, sorted for each method", ylabel="size / size of -Oz", ylim=(0.6, 1.2))
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
