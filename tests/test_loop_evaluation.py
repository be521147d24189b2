# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `mlcb evaluate loop-distribution` says: run times of real executables, beside the best that was found by trying."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from mlcb_gym.cli.main import app
from mlcb_gym.corpus.programs import Program
from mlcb_gym.errors import ProgramError
from mlcb_gym.evaluation.partition_timing import AGAIN, ALWAYS, BASELINE, LLVM, NEVER, OPTIMUM, Bounds, Tried
from mlcb_gym.evaluation.report import POLICY, Evaluation
from mlcb_gym.evaluation.run_time import COLUMN, evaluate_run_time, run_time_evaluation
from mlcb_gym.evaluation.statistics import Estimate
from tests.support.loop_policies import write_policy

FEW = Bounds(cuts=8, orders=3)
TWO = ["loops/test/rows_summed", "loops/test/mixed_chain_of_five"]
"""Kernels that are faster split, of two nodes and of five."""


@pytest.fixture
def always(tmp_path: Path) -> Path:
    """A policy that splits wherever it may."""
    return write_policy(tmp_path / "policy", 1)


@pytest.fixture
def evaluation() -> Evaluation:
    same: dict[str, list[float | None]] = {BASELINE: [3.0] * 3, AGAIN: [3.0] * 3, LLVM: [1.5] * 3, ALWAYS: [3.0] * 3}
    tried = [Tried(nodes=9, cuts=64, orders=32, executables=number) for number in range(3)]
    programs = [Program(f"p{number}", f"p{number}", Path(), "p", "") for number in range(3)]
    return run_time_evaluation("mine", programs, {**same, POLICY: [1.5, 3.0, 6.0], OPTIMUM: [1.5, 1.5, 3.0]}, tried, rounds=1)


def estimated(evaluation: Evaluation, method: str, other: str | None = None) -> Estimate:
    found = evaluation.estimates(method, other)[COLUMN]
    assert found is not None
    return found


def shown(evaluation: Evaluation) -> str:
    console = Console(width=250, file=io.StringIO(), record=True)
    console.print(evaluation.table())
    return " ".join(console.export_text().split())


def test_part_of_the_gap_is_told(evaluation: Evaluation) -> None:
    assert estimated(evaluation, POLICY).mean == pytest.approx(1.0)
    assert [evaluation.closed(method) for method in (BASELINE, POLICY, OPTIMUM)] == pytest.approx([0, 0, 1])
    assert estimated(evaluation, POLICY, LLVM).mean == pytest.approx(2.0)
    evaluation.seconds[OPTIMUM] = evaluation.seconds[BASELINE]
    assert evaluation.closed(POLICY) is None


def test_table_json_and_plot_are_of_the_same(evaluation: Evaluation, tmp_path: Path) -> None:
    evaluation.write(tmp_path)
    written = json.loads((tmp_path / "evaluation.json").read_text())
    text = shown(evaluation)
    best = written["summary"][OPTIMUM][COLUMN]
    assert all(said in text for said in (f"{best['mean']:.4f}", "100%", f"{POLICY} / {LLVM}", "in 3 programs of 64 drawn ones", "32 drawn orders"))
    assert written["paired"][f"{POLICY} / {OPTIMUM}"][COLUMN]["mean"] == pytest.approx(estimated(evaluation, POLICY, OPTIMUM).mean)
    assert (tmp_path / "evaluation.png").stat().st_size > 0


@pytest.mark.alone
def test_policy_is_timed_beside_all_that_can_be_tried(always: Path) -> None:
    evaluation = evaluate_run_time(always, TWO, best_of=(1, 2), rounds=7, bounds=FEW)
    assert evaluation.programs == TWO
    assert set(evaluation.seconds) == {BASELINE, AGAIN, LLVM, POLICY, NEVER, ALWAYS, "random, best of 2", "random, mean of 2", OPTIMUM}
    assert evaluation.seconds[NEVER] == evaluation.seconds[BASELINE]
    assert evaluation.seconds[POLICY] == evaluation.seconds[ALWAYS]
    assert all(seconds and 0 < seconds < 1 for method in evaluation.seconds.values() for seconds in method)
    assert all(ratio and ratio < 0.98 for ratio in evaluation.programs_of(COLUMN, OPTIMUM))
    assert [(t.nodes, t.cuts, t.orders, t.all_cuts) for t in evaluation.details["tried"]] == [(2, 2, 3, True), (5, 8, 3, False)]
    assert all(1 < t.executables <= t.cuts + t.orders for t in evaluation.details["tried"])


WHOLE = """
#include <stdio.h>
float a[1000], b[1000], c[1000];
int main(void) {
  for (int round = 0; round < 100; round++)
    for (int i = 1; i < 1000; i++) {
      a[i] = b[i] + (float)round;
      c[i] = c[i - 1] * 0.5f + a[i];
    }
  printf("%g\\n", (double)c[999]);
}
"""


def test_any_program_is_timed_as_a_whole(always: Path, tmp_path: Path) -> None:
    (tmp_path / "whole.c").write_text(WHOLE)
    evaluation = evaluate_run_time(always, tmp_path / "whole.c", best_of=(1,), rounds=2, bounds=Bounds(cuts=2, orders=1))
    (tried,) = evaluation.details["tried"]
    assert (tried.nodes, tried.all_cuts) == (2, True)
    assert all(seconds and 0 < seconds < 5 for (seconds,) in evaluation.seconds.values())


def test_no_random_partition_need_be_timed(always: Path) -> None:
    evaluation = evaluate_run_time(always, TWO[0], best_of=(), rounds=1, bounds=FEW)
    assert set(evaluation.seconds) == {BASELINE, AGAIN, LLVM, POLICY, NEVER, ALWAYS, OPTIMUM}


OTHERWISE = """
#include <stdio.h>
int main(void) {
#ifdef __OPTIMIZE__
  puts("fast");
#else
  puts("plain");
#endif
}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OTHERWISE, r"p.c: prints 'fast\\n', expected 'plain\\n' as at -O0"),
        ("int f(void) { return 1; }", "p.c: .*main"),
        ("int main(void) { return 3; }", "p.c: .* ended with 3"),
    ],
    ids=["otherwise", "no main", "fails"],
)
def test_program_that_cannot_be_compared_is_an_error(text: str, message: str, always: Path, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(text)
    with pytest.raises(ProgramError, match=message):
        evaluate_run_time(always, tmp_path / "p.c", best_of=(1,), rounds=1, bounds=FEW)


def test_command_prints_the_table_and_writes_the_plot(always: Path, tmp_path: Path) -> None:
    arguments = ["--policy", always, "--programs", "loops/test/rows_summed", "--rounds", 2, "--best-of", 2, "--output", tmp_path / "out"]
    done = CliRunner().invoke(app, ["evaluate", "loop-distribution", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    assert all(method in done.output for method in (BASELINE, AGAIN, LLVM, POLICY, OPTIMUM, "random, best of 2"))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"evaluation.json", "evaluation.png"}
