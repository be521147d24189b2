# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixed allocators beside a policy: each function keeps what executes least, as the environment foretells it."""

import operator
import re
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcb_gym.corpus.corpora import embedded
from mlcb_gym.envs.eviction import EvictionEnv
from mlcb_gym.envs.priority import PriorityEnv, as_llvm
from mlcb_gym.envs.rl4real import RL4ReAlEnv, heuristic
from mlcb_gym.errors import TaskError
from mlcb_gym.evaluation.module_metrics import evaluate_metrics
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.session import WorkerSession
from mlcb_gym.session.objects import loaded_sections
from mlcb_gym.spec import bind
from tests.support.allocation import CLANG, ROUNDING, function_sizes, stock, without_minsize
from tests.support.asking import compile_asking
from tests.support.episodes import finish
from tests.support.known_output import compile_

PROGRAM = "embedded/validation/text_codec"
METRICS = ("executed_candidates", "executed_beside")


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return without_minsize(PROGRAM, tmp_path_factory.mktemp("program") / "fast.bc")


def measured(program: Path, worker: WorkerSession, beside: str, choose: Any, made: Any = EvictionEnv) -> Mapping[str, float]:
    with closing(made(programs=program, session=worker, beside=beside, optsize=True, reward="cost_guarded", metrics=METRICS)) as env:
        return finish(env, choose)[2]


def compile_trying(candidates: int, program: Path, output: Path, task: str = "eviction") -> str:
    config = write_clang_config(output.with_suffix(".cfg"), [shipped()[task]], candidates=candidates)
    command = [CLANG, f"--config={config}", "-Rpass=mlcb", *stock("clang", program, output)[1:]]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.fixture
def rare_call(tmp_path: Path) -> Path:
    """A function that keeps a value over a call that is rarely made: stock saves a register for it at every entry."""
    (tmp_path / "rare.c").write_text("int g(int); int f(int a, int b) { int x = b * 3; if (__builtin_expect(a, 0)) x += g(a); return x + b; }")
    return tmp_path / "rare.c"


@pytest.mark.parametrize(("task", "made", "gains"), [("eviction", EvictionEnv, operator.lt), ("rl4real", RL4ReAlEnv, operator.le)])
def test_environment_foretells_what_clang_keeps(task: str, made: Any, gains: Any, worker: WorkerSession, fast: Path, tmp_path: Path) -> None:
    policy = OnnxPolicy(shipped()[task])
    info = measured(fast, worker, "3", policy.advice, made)
    said = compile_trying(4, fast, tmp_path / "kept.o", task)
    assert float(re.findall(r"functions, ([\d.]+)", said)[0]) == pytest.approx(info["executed_candidates"], abs=1e-3)
    assert float(re.findall(r"csr 16384 \+ same: ([\d.]+)", said)[0]) == pytest.approx(info["executed_beside"], abs=1e-3)
    assert gains(info["executed_candidates"], info["executed_guarded"])
    assert info["executed_guarded"] <= info["executed_default"]
    assert info["executed_candidates"] < info["executed_default"]


def test_function_is_emitted_as_its_fixed_allocator_leaves_it(fast: Path, tmp_path: Path) -> None:
    kept = int(re.findall(r"csr 32768 \+ same in (\d+)", compile_trying(2, fast, tmp_path / "kept.o"))[0])
    compile_trying(1, fast, tmp_path / "guarded.o")
    subprocess.run(stock("clang", fast, tmp_path / "stock.o"), check=True)
    flags = ["-mllvm", "-regalloc-csr-first-time-cost=32768"]
    compile_asking([*stock("clang", fast, tmp_path / "fixed.o"), *flags], "priority", lambda *_: 0.0, tmp_path)
    emitted, own, fixed, guarded = (function_sizes(tmp_path / f"{name}.o") for name in ("kept", "stock", "fixed", "guarded"))
    assert all(size in (own[name], fixed[name], guarded[name]) for name, size in emitted.items())
    assert 0 < sum(size == fixed[name] != own[name] for name, size in emitted.items()) <= kept


def test_rare_call_costs_no_callee_saved_register_where_one_has_its_price(worker: WorkerSession, rare_call: Path) -> None:
    cheap, dear = (measured(rare_call, worker, f"csr {cost}", as_llvm, PriorityEnv) for cost in (16, 32768))
    assert cheap["executed"] == cheap["executed_default"] == cheap["executed_beside"] > 5  # a push and a pop
    assert dear["executed_beside"] == dear["executed_candidates"] < 2.5


def test_other_allocators_of_llvm_allocate_in_greedys_place(worker: WorkerSession, fast: Path) -> None:
    costs = {name: measured(fast, worker, name, as_llvm, PriorityEnv) for name in ("basic", "fast", "pbqp")}
    executed = {name: info["executed_beside"] for name, info in costs.items()}
    own = costs["fast"]["executed_default"]
    assert len({own, *executed.values()}) == 4
    assert executed["fast"] > 1.5 * own
    assert all(info["executed_candidates"] <= own for info in costs.values())
    assert measured(fast, worker, "csr 16", as_llvm, PriorityEnv)["executed_default"] == own


def test_fixed_allocators_are_the_same_beside_agents(worker: WorkerSession, fast: Path) -> None:
    advised, agents = (measured(fast, worker, "1", *one) for one in ((as_llvm, PriorityEnv), (heuristic, RL4ReAlEnv)))
    assert agents["executed_beside"] == advised["executed_beside"] != advised["executed_default"]


def test_fixed_allocator_that_is_none_is_named(worker: WorkerSession) -> None:
    with pytest.raises(TaskError, match="beside: 'linear scan', expected a number, or fixed allocators, as csr 32768"):
        EvictionEnv(programs=PROGRAM, session=worker, beside="linear scan")


@pytest.mark.parametrize("task", ["eviction", "priority"])
def test_policy_of_before_fixed_allocators_is_valid(task: str) -> None:
    assert OnnxPolicy(shipped()[task]).manifest["digest"] == bind(task, {}).digest != bind(task, {"beside": "never"}).digest


def test_evaluation_has_rows_of_candidates_and_fixed_allocators() -> None:
    evaluation = evaluate_metrics(shipped()["eviction"], [PROGRAM], candidates=(1, 4), best_of=())
    costs: Mapping[str, Any] = {method: ratios[0] for method, ratios in evaluation.ratios["cost"].items()}
    assert costs["candidates: 4"] <= costs["candidates: 1"] <= 1
    assert costs["candidates: 4"] <= costs["best of 2 fixed"] <= costs["best of 1 fixed"] <= 1
    assert costs["csr 32768, guarded"] <= min(1, costs["csr 32768"]) + ROUNDING
    assert np.isfinite(list(costs.values())).all()


def bytes_of_objects(program: str, config: Path, *flags: str) -> list[int]:
    """Of the object by a configuration, and of stock's: all that is loaded."""
    sizes = []
    for output, options in ((config.with_suffix(".o"), [f"--config={config}"]), (config.with_suffix(".stock.o"), [])):
        compile_(embedded(f"embedded/{program}")[0], *options, *flags, "-w", "-c", output=output)
        sizes.append(sum(loaded_sections(output).values()))
    return sizes


@pytest.mark.parametrize("program", ["test/aes", "test/forth", "train/lisp"])
def test_object_takes_no_more_bytes_with_its_padding_and_constants(program: str, tmp_path: Path) -> None:
    own, stocks = bytes_of_objects(program, write_clang_config(tmp_path / "mlcb.cfg", [shipped()["rl4real"]], candidates=4), "-O2")
    assert own <= stocks


@pytest.mark.parametrize("program", ["train/lisp", "train/red_black_tree", "test/btree"])
def test_object_takes_no_more_bytes_where_code_is_outlined(program: str, tmp_path: Path) -> None:
    # This machine's headers, for a library of the target's need not be here.
    headers = ("-nostdlibinc", "-isystem", "/usr/include", "-isystem", "/usr/include/x86_64-linux-gnu", "-D__x86_64__")
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()["eviction"]], candidates=4)
    own, stocks = bytes_of_objects(program, config, "--target=aarch64-linux-gnu", *headers, "-Oz")
    assert own <= stocks


def test_each_policy_says_once_what_it_decided(rare_call: Path, tmp_path: Path) -> None:
    tasks = ("eviction", "priority", "rl4real")
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()[task] for task in tasks], guard=True)
    command: list[str | Path] = [CLANG, f"--config={config}", "-O2", "-Rpass=mlcb", "-c", rare_call, "-o", tmp_path / "rare.o"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stderr
    assert sorted(re.findall(r"remark: (\w+): \d+ decisions?", said)) == list(tasks)


def test_guard_measures_by_stocks_allocator_whatever_another_would_decide(tmp_path: Path) -> None:
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()[task] for task in ("rl4real", "function_size")], candidates=3)
    command: list[str | Path] = [
        CLANG,
        f"--config={config}",
        "-Oz",
        "-w",
        "-Rpass=mlcb",
        "-c",
        embedded("embedded/test/aes")[0],
        "-o",
        tmp_path / "aes.o",
    ]
    measured = set()
    for options in ([], ["-mllvm", "-mlcb-regalloc-decider=last"]):
        said = subprocess.run([*command, *options], check=True, capture_output=True, text=True, timeout=60).stderr
        measured.update(re.findall(r"candidate 1: .*", said))
    assert len(measured) == 1


def test_function_that_is_not_in_elf_keeps_greedys_allocation(fast: Path, tmp_path: Path) -> None:
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()["rl4real"]], guard=True)
    command: list[str | Path] = [CLANG, "--target=x86_64-apple-macosx13", "-O2", "-w", "-ffreestanding", "-c", fast]
    done = subprocess.run(
        [*command, f"--config={config}", "-Rpass=mlcb", "-o", tmp_path / "own.o"], check=True, capture_output=True, text=True, timeout=60
    )
    subprocess.run([*command, "-o", tmp_path / "stock.o"], check=True, timeout=60)
    assert "policy: not tried, for the bytes of a function are known in ELF alone; kept: greedy" in done.stderr
    assert (tmp_path / "own.o").read_bytes() == (tmp_path / "stock.o").read_bytes()
