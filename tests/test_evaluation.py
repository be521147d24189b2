# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an evaluation says: ratios, their intervals, time, and the same in table and JSON."""

import io
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs import posetrl
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.fixed_sequences import FixedSequences
from mlcb_gym.envs.objective import LEAST_RATIO, Objective
from mlcb_gym.envs.posetrl import CLANG, PosetRLEnv
from mlcb_gym.envs.record import SMALLER, Alternative, Observation
from mlcb_gym.errors import ProgramError, TaskError, ToolchainError
from mlcb_gym.evaluation import module_metrics
from mlcb_gym.evaluation.bench import Bench
from mlcb_gym.evaluation.journal import Journal
from mlcb_gym.evaluation.module_metrics import evaluate_metrics
from mlcb_gym.evaluation.report import POLICY, Evaluation
from mlcb_gym.evaluation.statistics import estimate
from mlcb_gym.evaluation.trace_rows import PAIRS, TraceRows
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.play import play_in_order, replay
from mlcb_gym.rollout.pool import EnvPool
from mlcb_gym.rollout.trace import FAILED_RATIO, Trace, geomean
from mlcb_gym.session.objects import object_size
from mlcb_gym.toolchain import tool

STOP = 4
OZ, BEST_FIXED = "-Oz", "best fixed sequence"
SIZE = {"size": ("size", "size_oz"), "text": ("text", "text_oz")}
RATIOS = [0.9, 0.8, 1.1, 1.0]
PROJECTS = ["a", "a", "b", "b"]


def test_numbers_of_attempts_are_checked_before_anything_is_played() -> None:
    with pytest.raises(TaskError, match=r"^best_of=1, 0: expected 1 or more$"):
        evaluate_metrics(shipped()["posetrl"], "embedded/test/aes", best_of=(1, 0))


@pytest.mark.parametrize(("own", "default", "ratio"), [(50.0, 100.0, 0.5), (0.0, 100.0, LEAST_RATIO), (50.0, 0.0, 51.0), (0.0, 0.0, 1.0)])
def test_metric_of_0_counts_as_it_was_measured(own: float, default: float, ratio: float) -> None:
    trace = Trace("p", (0,), (0.9,), measured={"executed": own, "executed_default": default})
    assert trace.scored_in("executed", "executed_default") == ratio
    assert trace.scored_in("cost", "cost_default") == 0.9


def test_interrupted_evaluation_goes_on_where_it_stopped(tmp_path: Path) -> None:
    programs = resolve("embedded/train")[:6]
    answers: list[int] = []

    def played(journal: Journal | None, most: int = 99) -> list[Trace]:
        def choose(_: Observation) -> int:
            if len(answers) == most:
                raise KeyboardInterrupt
            answers.append(0)
            return 0

        answers.clear()
        with closing(Bench(EnvPool(PosetRLEnv, programs=programs, max_steps=1), programs, journal)) as bench:
            stop, again = bench.run(choose, "stop"), bench.run(choose, "again")
            bench.finish()
            return stop + again

    def begun(inputs: str) -> Journal:
        journal = Journal(tmp_path / "unfinished.jsonl")
        journal.begin(inputs)
        return journal

    whole = [replace(trace, actions=(), seconds=None) for trace in played(None)]
    with pytest.raises(KeyboardInterrupt):
        played(begun("these"), most=9)
    with (tmp_path / "unfinished.jsonl").open("a") as lines:
        lines.write('{"stage": 2, "program": 5, "trace"')
    assert [replace(trace, actions=(), seconds=None) for trace in played(begun("these"))] == whole
    assert len(answers) < 12 - 4
    played(begun("others"))
    assert len(answers) == 12


def test_search_that_was_interrupted_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ["embedded/test/" + name for name in ("aes", "bwt", "forth")]
    found: list[str] = []

    def search_until(most: int) -> None:
        def searched(env: CompilerEnv, program: Program) -> Trace:
            if len(found) == most:
                raise KeyboardInterrupt
            found.append(program.name)
            return Trace(program.name, (0,), (0.5,))

        monkeypatch.setattr(module_metrics, "searched", searched)
        with closing(Journal(tmp_path / "unfinished.jsonl")) as journal:
            evaluate_metrics(shipped()["inliner"], names, best_of=(), references=False, search=True, journal=journal)

    with pytest.raises(KeyboardInterrupt):
        search_until(2)
    search_until(3)
    assert found == names


def traces(ratios: list[float], seconds: float | None = None) -> list[Trace]:
    return [Trace(f"p{i}", (0,), (ratio,), seconds=seconds) for i, ratio in enumerate(ratios)]


@pytest.fixture
def rows() -> TraceRows:
    made = TraceRows(Evaluation(policy="mine", programs=[f"p{i}" for i in range(4)], projects=PROJECTS, baseline=OZ, pairs=PAIRS), SIZE)
    made.add_baseline(traces([1.0] * 4, seconds=0.010))
    made.add_guarded(POLICY, traces(RATIOS, seconds=0.005))
    made.add(BEST_FIXED, traces([2 * ratio for ratio in RATIOS]))
    return made


@pytest.fixture
def evaluation(rows: TraceRows) -> Evaluation:
    return rows.evaluation


def test_interval_by_project_draws_whole_projects() -> None:
    alike = estimate([0.8, 0.8, 0.8, 1.25, 1.25, 1.25], ["a"] * 3 + ["b"] * 3)
    assert alike.by_program is not None
    assert alike.by_project is not None
    assert alike.mean == pytest.approx(1.0)
    assert (alike.by_project.low, alike.by_project.high) == pytest.approx((0.8, 1.25))
    assert alike.by_project.low < alike.by_program.low < 1 < alike.by_program.high < alike.by_project.high
    assert (alike.programs, alike.projects) == (6, 2)


def test_intervals_are_equal_where_every_program_is_a_project() -> None:
    apart = estimate(RATIOS, ["a", "b", "c", "d"])
    assert apart.by_program == apart.by_project


def test_one_project_has_no_interval() -> None:
    alike = estimate([0.5, 1.0], ["a", "a"])
    assert alike.by_program is not None
    assert alike.by_project is None
    assert estimate([0.5], ["a"]).by_program is None


def test_project_with_more_programs_weighs_more() -> None:
    assert estimate([0.5, 0.5, 0.5, 1.0], ["a", "a", "a", "b"]).mean == pytest.approx(geomean([0.5, 0.5, 0.5, 1.0]))


def test_time_is_that_of_all_episodes_that_the_best_is_taken_of(rows: TraceRows, evaluation: Evaluation) -> None:
    rows.add("best of 3", *(traces(RATIOS, seconds=s) for s in (0.010, 0.020, 0.030)))
    assert evaluation.seconds["best of 3"] == pytest.approx([0.060] * 4)
    time = evaluation.estimates("best of 3")["time"]
    assert time is not None
    assert time.mean == pytest.approx(6.0)


def test_time_of_a_failed_episode_is_not_known(rows: TraceRows, evaluation: Evaluation) -> None:
    failed = replace(traces([0.5])[0], error="crash", ratios=())
    rows.add("risky", [failed, *traces(RATIOS, seconds=0.020)[1:]])
    assert evaluation.seconds["risky"][0] is None
    assert evaluation.ratios["size"]["risky"][0] == FAILED_RATIO
    time = evaluation.estimates("risky")["time"]
    assert time is not None
    assert time.mean == pytest.approx(2.0)
    assert time.programs == 3


def test_pair_is_compared_program_by_program(evaluation: Evaluation) -> None:
    size = evaluation.estimates(POLICY, BEST_FIXED)["size"]
    assert size is not None
    assert size.by_program is not None
    assert size.by_project is not None
    assert (size.mean, size.by_program.low, size.by_project.high) == pytest.approx((0.5, 0.5, 0.5))


def test_table_and_json_say_the_same(evaluation: Evaluation, tmp_path: Path) -> None:
    evaluation.write(tmp_path)
    written = json.loads((tmp_path / "evaluation.json").read_text())
    console = Console(width=250, file=io.StringIO(), record=True)
    console.print(evaluation.table())
    shown = console.export_text()
    size, time = (written["summary"][POLICY][measure] for measure in ("size", "time"))
    by_project = f"{size['by_project']['low']:.4f}-{size['by_project']['high']:.4f}"
    assert all(said in shown for said in (f"{size['mean']:.4f}", by_project, f"{time['mean']:.2f}", "4 programs of 2 projects"))
    assert written["paired"][f"{POLICY} / {BEST_FIXED}"]["size"]["mean"] == pytest.approx(0.5)
    assert written["summary"]["policy, guarded"]["time"] is None
    assert written["ratios"]["size"]["policy, guarded"] == [0.9, 0.8, 1.0, 1.0]
    assert (tmp_path / "evaluation.png").stat().st_size > 0


def test_columns_are_measured_whatever_the_reward_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    class SizeAlone(PosetRLEnv):
        def __init__(self, **options: Any) -> None:
            bytes_alone = Objective(("size", "size_oz"), lambda before, after: -after["size"], first={"size": "size_unoptimized"})
            super().__init__(reward=bytes_alone, **options)

    def ratios() -> Mapping[str, Mapping[str, Sequence[float | None]]]:
        return evaluate_metrics(shipped()["posetrl"], "embedded/test/bwt", best_of=(), references=False).ratios

    usual = ratios()
    monkeypatch.setattr(module_metrics, "env_class", lambda task: SizeAlone)
    assert ratios() == usual
    assert usual["text"][POLICY] != usual["size"][POLICY]


PLAYED = {POLICY, OZ, BEST_FIXED, "coreset, best of 2", "random, best of 1", "random, best of 2"}


@pytest.fixture
def few_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few of the policies that do not learn, for less to play."""
    references, portfolios = posetrl._references(FixedSequences("default<Oz> ; iroutliner", ("default<Oz>", "default<Oz> ; iroutliner")))
    monkeypatch.setattr(PosetRLEnv, "record", replace(PosetRLEnv.record, reference_policies=references, portfolios=portfolios))


@pytest.mark.usefixtures("few_references")
def test_module_without_a_function_is_in_no_mean(tmp_path: Path, leaf: Path) -> None:
    (tmp_path / "data.c").write_text("int table[4] = {1, 2, 3, 4};\n")
    evaluation = evaluate_metrics(shipped()["posetrl"], tmp_path, best_of=(1,))
    assert (evaluation.programs, evaluation.left_out) == (["leaf.c"], ["data.c"])
    assert {len(ratios) for ratios in evaluation.ratios["size"].values()} == {1}
    assert evaluation.remark == "left out of every mean: 1 program without a function"


@pytest.mark.parametrize("task", ["inliner", "eviction"])
def test_program_with_functions_but_no_decision_counts_one(task: str, leaf: Path) -> None:
    evaluation = evaluate_metrics(shipped()[task], leaf, best_of=(1,))
    (first, *_) = evaluation.ratios.values()
    assert {ratio for method, ratios in first.items() for ratio in ratios if method not in SMALLER} == {1.0}
    assert (evaluation.left_out, evaluation.failures) == ([], {})


def test_programs_without_a_function_alone_are_refused(tmp_path: Path) -> None:
    (tmp_path / "data.c").write_text("int table[4] = {1, 2, 3, 4};\n")
    with pytest.raises(ProgramError, match=r"^data.c: no function to compile"):
        evaluate_metrics(shipped()["inliner"], tmp_path, best_of=(1,))


def test_failures_keep_their_penalty_and_are_counted_with_their_reasons(rows: TraceRows, evaluation: Evaluation) -> None:
    failed = replace(traces([0.5])[0], error="p0: crash", ratios=())
    for method in ("risky", "as risky"):
        rows.add(method, [failed, *traces(RATIOS)[1:]])
    rows.add_alternative("beside it", [failed, *traces(RATIOS)[1:]], Alternative(arguments={}, columns=SIZE))
    assert evaluation.ratios["size"]["risky"][0] == evaluation.ratios["size"]["beside it"][0] == FAILED_RATIO
    assert evaluation.remark == "failed, and counted with a penalty: 3 episodes (p0: crash)"


def test_interval_over_one_project_is_not_printed(tmp_path: Path) -> None:
    made = TraceRows(Evaluation(policy="mine", programs=["p0", "p1"], projects=["a", "a"], baseline=OZ), SIZE)
    made.add_baseline()
    made.add(POLICY, traces([0.5, 0.9]))
    made.evaluation.write(tmp_path)
    console = Console(width=250, file=io.StringIO(), record=True)
    console.print(made.evaluation.table())
    shown = console.export_text()
    assert "2 programs of 1 project" in shown
    assert shown.count("0.5000-0.9000") == 1


def test_sub_folders_are_projects(tmp_path: Path) -> None:
    for name in ("own.c", "zlib/a.c", "zlib/deep/b.c", "lz4/c.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("int f(int x) { return x; }\n")
    root = tmp_path.name
    assert [program.project for program in resolve(tmp_path)] == [f"{root}/lz4", root, f"{root}/zlib", f"{root}/zlib"]


@pytest.mark.parametrize("dense", [True, False])
def test_seconds_of_an_episode_are_those_of_all_its_turns(make_env: Callable[..., PosetRLEnv], program: Path, dense: bool) -> None:
    env = make_env(metrics=("llvm_seconds",), dense=dense)
    short, long = play_in_order([env], (replay(program, (*(2,) * count, STOP)) for count in (1, 10)))
    assert short.seconds is not None
    assert long.seconds is not None
    assert 0 < short.seconds < long.seconds


@pytest.mark.parametrize("level", ["-Os", "-O2"])
def test_other_levels_are_clangs_own(make_env: Callable[..., PosetRLEnv], tmp_path: Path, level: str) -> None:
    source = Path(str(files("mlcb_gym").joinpath("corpus/embedded/test/aes.c")))
    subprocess.run([tool("clang"), level, "-c", "-w", "-fno-ident", source, "-o", tmp_path / "aes.o"], check=True)
    (trace,) = play_in_order([make_env(actions=[CLANG[f"clang {level}"], "stop"])], [replay("embedded/test/aes", (0,))])
    assert trace.measured["size"] == object_size(tmp_path / "aes.o")


@pytest.mark.usefixtures("few_references")
def test_policy_is_evaluated_against_everything_that_does_not_learn() -> None:
    evaluation = evaluate_metrics(shipped()["posetrl"], ["embedded/test/aes"], best_of=(1, 2))
    sizes = evaluation.ratios["size"]
    assert set(evaluation.methods) > PLAYED
    assert evaluation.projects == ["aes"]
    assert sizes["coreset, best of 1"] == sizes["coreset, best of 1, guarded"] == [1.0]
    assert "-Oz, internalised" in sizes
    assert sizes["coreset, best of 2"] == [min(1.0, *(ratio for ratio in sizes[BEST_FIXED] if ratio))]
    assert all(np.isfinite(s or np.nan) for method in PLAYED & set(evaluation.seconds) for s in evaluation.seconds[method])
    assert not evaluation.failures


@pytest.mark.usefixtures("few_references")
def test_rows_of_stock_tools_that_are_missing_are_left_out_with_a_note(leaf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ToolchainError("opt not found")

    monkeypatch.setattr("mlcb_gym.evaluation.module_metrics.evaluate_stock", missing)
    evaluation = evaluate_metrics(shipped()["posetrl"], leaf, best_of=())
    assert f"left out, for they need LLVM's tools: {'; '.join(SMALLER)} (opt not found)" in evaluation.notes
    assert not SMALLER.keys() & evaluation.ratios["size"].keys()
