# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The study of what learning brings: its cells, its page, and the search that has no policy."""

from contextlib import closing
from pathlib import Path

import pytest

from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.rollout.play import play_in_order
from scripts.study import page
from scripts.study.__main__ import main
from scripts.study.plan import SEEDS, START, SUBJECTS, Cell, cells
from scripts.study.play import Result, climb
from tests.support.posetrl import ACTIONS

PROJECTS = {"one/a": "one", "one/b": "one", "two/c": "two"}


def result(ratio: float, **changes: object) -> Result:
    both = {split: {program: ratio for program in PROJECTS} for split in ("validation", "test")}
    return Result(both, projects=PROJECTS, **{"commit": "abc", **changes})  # type: ignore[arg-type]


def test_names_of_cells_differ() -> None:
    names = [cell.name for cell in cells()]
    assert len(set(names)) == len(names) == len(SEEDS) * sum(1 + len(subject.methods) for subject in SUBJECTS.values())


def test_climbing_begins_with_the_heuristic_and_never_loses_what_it_has(program: Path) -> None:
    (chosen,) = resolve(program)
    with closing(InlinerEnv(programs=program, reward="object")) as env:
        one, ten = (play_in_order([env], [climb(chosen, tries=tries, seed=1, usual=env.default_action)])[0] for tries in (1, 10))
    assert one.ratio == 1.0
    assert ten.ratio <= 1.0


def test_climbing_without_a_heuristic_gets_better(program: Path) -> None:
    (chosen,) = resolve(program)
    with closing(PosetRLEnv(programs=program, actions=ACTIONS, reward="size")) as env:
        found = [play_in_order([env], [climb(chosen, tries=tries, seed=1, usual=None)])[0].ratio for tries in (1, 20)]
    assert found[1] < found[0]


def test_page_has_what_was_played_and_says_what_was_not(tmp_path: Path) -> None:
    nulls = {method: result(ratio).ratios for method, ratio in {"random, best of 1": 1.2, "always": 1.1, "never": 1.05}.items()}
    played = {Cell("inliner", START, SEEDS[0]): result(1.3, references=nulls)}
    played |= {Cell("inliner", "PPO", seed): result(ratio, compilations=700) for seed, ratio in zip(SEEDS, (0.97, 0.98, 0.99), strict=True)}
    page.write(tmp_path, played)
    text = (tmp_path / "README.md").read_text()
    assert "| best fixed answer: never | 1.0500 | 1.0500 | 1.0500-1.0500 | 1.0500 |  |" in text
    assert "| PPO | 0.9800 | 0.9800 | 0.9800-0.9800 | 0.9700, 0.9800, 0.9900 | 700 |" in text
    best = "best fixed answer: never"
    assert f"- **inliner**: yes. PPO has 0.9800, *{best}* 1.0500; their ratio, program by program, is 0.9333 (0.9333-0.9333)." in text
    assert "- **posetrl**: not played yet." in text
    assert "## posetrl\n\nNot played yet." in text
    assert (tmp_path / page.PLOT).stat().st_size > 10_000


@pytest.mark.parametrize(("fixed", "answer"), [(0.9, "no. "), (0.99, "no difference can be told. "), (1.1, "yes. ")])
def test_verdict_is_that_of_the_interval_beside_the_best_that_does_not_learn(fixed: float, answer: str) -> None:
    ratios = {"one/a": 0.95, "one/b": 0.95, "two/c": 1.05}
    learnt = Result({split: ratios for split in ("validation", "test")}, projects=PROJECTS)
    rows = [page.Row.of("always", [result(fixed)]), page.Row.of("random", [result(1.2)]), page.Row.of("PPO", [learnt], learns=True)]
    assert page.verdict(rows, PROJECTS).startswith(f"{answer}PPO has 0.98")


@pytest.mark.slow
def test_cell_is_played_once_and_the_next_seed_pays_as_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    for seed in SEEDS[:2]:
        monkeypatch.setattr("sys.argv", ["study", "--output", "out", "--minutes", "1.5", "--only", f"loop_distribution-es-{seed}"])
        main()
    first, second = (Result.read(tmp_path / "out" / "cells" / f"loop_distribution-es-{seed}.json") for seed in SEEDS[:2])
    assert first.updates == second.updates > 0
    assert first.compilations == second.compilations > 0
    assert first.ratios != second.ratios
