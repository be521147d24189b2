# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The draw of programs: how often each of four is drawn, by rule."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from math import exp
from pathlib import Path

import numpy as np
import pytest

from mlcb_gym import _native
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.envs.sampling import SAMPLERS, Sampler, Sampling, sampler
from mlcb_gym.errors import TaskError
from mlcb_gym.session import EpisodeRequest
from mlcb_gym.spec import TaskSpec
from mlcb_gym.testing import ScriptedCompiler

SIZES = (400, 100, 200, 300)


@pytest.fixture
def programs(tmp_path: Path) -> list[Program]:
    files = [tmp_path / f"{size}.bc" for size in SIZES]
    for file, size in zip(files, SIZES, strict=True):
        file.write_bytes(bytes(size))
    return [Program.of(file.stem, str(file), file, "project") for file in files]


def shares(rule: Sampler, count: int = 4000) -> list[float]:
    """How often each program is drawn."""
    drawn = Counter(rule.draw(rng) for rng in [np.random.default_rng(1)] for _ in range(count))
    return [drawn[i] / count for i in range(len(SIZES))]


def test_uniform_draws_all_alike(programs: Sequence[Program]) -> None:
    assert shares(sampler("uniform", programs)) == pytest.approx([0.25] * 4, abs=0.03)


def test_size_draws_in_proportion_to_the_bitcode(programs: Sequence[Program]) -> None:
    assert shares(sampler("size", programs)) == pytest.approx([0.025 + 0.9 * size / sum(SIZES) for size in SIZES], abs=0.03)


def test_improvement_draws_what_was_gained_on(programs: Sequence[Program]) -> None:
    rule = sampler("improvement", programs)
    assert shares(rule) == pytest.approx([0.25] * 4, abs=0.03)
    for index, ratio in enumerate([exp(-0.3), exp(-0.1), 1.0, 2.0]):
        rule.note(index, ratio)
    assert shares(rule) == pytest.approx([0.025 + 0.9 * part for part in (0.75, 0.25, 0, 0)], abs=0.03)


def test_improvement_is_a_moving_average(programs: Sequence[Program]) -> None:
    rule = sampler("improvement", programs)
    for ratio in (exp(-0.1), exp(-0.2)):
        rule.note(0, ratio)
    for index in (1, 2, 3):
        rule.note(index, exp(-0.11))  # 0.9 * 0.1 + 0.1 * 0.2
    assert shares(rule) == pytest.approx([0.25] * 4, abs=0.03)


def test_program_not_drawn_yet_counts_as_the_best(programs: Sequence[Program]) -> None:
    rule = sampler("improvement", programs)
    rule.note(0, exp(-0.3))
    rule.note(1, 1.0)
    assert shares(rule) == pytest.approx([0.325, 0.025, 0.325, 0.325], abs=0.03)


def test_curriculum_begins_with_the_smallest(programs: Sequence[Program]) -> None:
    rule, rng = sampler("curriculum", programs), np.random.default_rng(1)
    drawn = [{rule.draw(rng) for _ in range(1)} for _ in range(3)]
    assert drawn[0] == {1}
    assert drawn[1] <= {1, 2}
    assert drawn[2] <= {1, 2, 3}
    assert shares(rule) == pytest.approx([0.25] * 4, abs=0.03)


def test_unknown_rule_is_named(programs: Sequence[Program]) -> None:
    with pytest.raises(TaskError, match=r"^sampling='best': expected one of uniform, size, improvement, curriculum$"):
        sampler("best", programs)


@pytest.mark.parametrize("rule", ["uniform", "size", "improvement", "curriculum"])
def test_same_seed_gives_the_same_programs_again(rule: Sampling) -> None:
    actions = ["function(mem2reg)", "default<Oz>", "stop"]
    env = PosetRLEnv(programs="embedded/train", actions=actions, session=ScriptedCompiler(), sampling=rule)

    def programs() -> list[str]:
        names = []
        for seed in (7, None, None, None, None):
            names.append(env.reset(seed=seed)[1]["program"])
            env.step(1)
            env.step(2)
        return names

    first = programs()
    assert programs() == first
    assert len(set(first)) > 1


class InTurn(Sampler):
    """Draws the programs one after the other, and keeps what is noted."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self._order, self.noted = iter(range(len(programs))), list[tuple[int, float]]()

    def draw(self, rng: np.random.Generator) -> int:
        return next(self._order)

    def note(self, index: int, ratio: float) -> None:
        self.noted.append((index, ratio))


EMPTY, LOST, WHOLE = resolve(["embedded/train/fft", "embedded/train/lisp", "embedded/train/sudoku"])


class Failing(ScriptedCompiler):
    """A compiler that has no decision in one program, and is lost on another."""

    def _play(self, compiler: _native.Compiler, spec: TaskSpec, request: EpisodeRequest) -> None:
        if request.program == LOST.bitcode:
            compiler.close()
            return
        self._horizon = 0 if request.program == EMPTY.bitcode else 1
        super()._play(compiler, spec, request)


def noted(monkeypatch: pytest.MonkeyPatch, programs: Sequence[Program], action: int) -> list[tuple[int, float]]:
    """What a sampler hears of an episode of one action, or of what goes before it."""
    rule = InTurn(programs)
    monkeypatch.setitem(SAMPLERS, "uniform", lambda _: rule)
    with closing(InlinerEnv(programs=programs, session=Failing())) as env:
        env.reset()
        env.step(action)
    return rule.noted


def test_program_that_leaves_nothing_to_decide_is_noted_without_a_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert noted(monkeypatch, [EMPTY, WHOLE], action=0) == [(0, 1.0), (1, 1.0)]


def test_program_whose_episode_fails_is_noted_without_a_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert noted(monkeypatch, [WHOLE], action=-1) == [(0, 1.0)]


def test_program_whose_compiler_is_lost_is_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert noted(monkeypatch, [LOST, WHOLE], action=0) == [(1, 1.0)]
