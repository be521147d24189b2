# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first actions, each compiled: clang keeps the smallest module, or the least in each function, and the evaluation foretells it."""

import re
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.envs.function_size import FunctionSizeEnv
from mlcb_gym.errors import PolicyError, TaskError
from mlcb_gym.evaluation.module_metrics import evaluate_metrics
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import play_in_order
from mlcb_gym.search.candidates import best_of_each, nth_allowed
from mlcb_gym.session.worker import WorkerSession
from tests.support.deployment import make_env, make_policy

PROGRAMS = corpora.embedded("embedded/validation")
LEAST = "the least of each function"


def config(folder: Path, *tasks: str, candidates: int = 0) -> Path:
    policies = [shipped()[task] for task in tasks]
    return write_clang_config(folder / f"{'-'.join(tasks)}{candidates}.cfg", policies, candidates=candidates)


def compile_(config: Path | None, program: Path, output: Path, *flags: str) -> str:
    configured = [] if config is None else [f"--config={config}"]
    command: list[str | Path] = [toolchain.tool("clang"), *configured, "-Oz", "-w", "-Rpass=mlcb", *flags, "-c", program, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stderr


def tried(said: str) -> tuple[dict[str, int], str]:
    """The bytes of each way, and the one that was kept, where a comparison was made last."""
    ways, kept = re.findall(r"remark: (?:<unknown>:0:0: )?(.* bytes.*); kept: (.*?)(?: \[-Rpass|$)", said, re.MULTILINE)[-1]
    return {name: int(size) for name, size in re.findall(r"(\w[^,:]*): (\d+) bytes", ways)}, kept


def allocated(object_file: Path) -> int:
    """The bytes of all allocated sections but BSS."""
    said = subprocess.run([toolchain.tool("llvm-readelf"), "-SW", object_file], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"\] \S* +(\w+) +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) \d\d +(\w*)", said)
    return sum(int(size, 16) for kind, size, flags in rows if "A" in flags and kind != "NOBITS")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_least_is_kept(program: Path, tmp_path: Path) -> None:
    ways, kept = tried(compile_(config(tmp_path, "function_size", candidates=3), program, tmp_path / "kept.o"))
    assert list(ways) == ["candidate 1", "candidate 2", "candidate 3", "no change", "stock", LEAST]
    assert ways[kept] == min(ways.values())
    compile_(None, program, tmp_path / "stock.o")
    assert allocated(tmp_path / "stock.o") - allocated(tmp_path / "kept.o") == ways["stock"] - ways[kept]


@pytest.mark.parametrize("candidates", [1, 3, 9])
def test_evaluation_foretells_what_clang_keeps(candidates: int, tmp_path: Path) -> None:
    arguments = OnnxPolicy(shipped()["function_size"]).env_arguments
    with closing(FunctionSizeEnv(programs=PROGRAMS, dense=True, **arguments)) as env:
        choices = [nth_allowed(index, env.default_action) for index in range(candidates)]
        foretold = play_in_order([env], [best_of_each(program, choices, env.default_action) for program in env.programs])
    for program, trace in zip(PROGRAMS, foretold, strict=True):
        compile_(config(tmp_path, "function_size", candidates=candidates), program, tmp_path / "kept.o")
        compile_(None, program, tmp_path / "stock.o")
        assert allocated(tmp_path / "kept.o") / allocated(tmp_path / "stock.o") == pytest.approx(min(trace.ratio, 1.0), abs=0.008), program


def test_the_smallest_sequence_is_kept(tmp_path: Path) -> None:
    made, seen = config(tmp_path, "posetrl", candidates=3), set()
    for program in PROGRAMS:
        ways, kept = tried(compile_(made, program, tmp_path / "kept.o"))
        assert list(ways) == ["posetrl 1", "posetrl 2", "posetrl 3", "default<Oz>"]
        assert ways[kept] == min(ways.values())
        seen.add(kept)
    assert len(seen) > 2, "programs that suit different sequences"


@pytest.mark.parametrize(("task", "candidates"), [("posetrl", 1), ("posetrl", 4), ("posetrl", 99), ("function_posetrl", 1), ("function_posetrl", 3)])
def test_evaluation_foretells_what_is_kept_of_a_pipeline(task: str, candidates: int, tmp_path: Path) -> None:
    evaluation = evaluate_metrics(shipped()[task], PROGRAMS, best_of=(), candidates=(candidates,), references=False)
    for program, ratio in zip(PROGRAMS, evaluation.ratios["size"][f"candidates: {candidates}"], strict=True):
        compile_(config(tmp_path, task, candidates=candidates), program, tmp_path / "kept.o")
        compile_(None, program, tmp_path / "stock.o")
        assert allocated(tmp_path / "kept.o") / allocated(tmp_path / "stock.o") == pytest.approx(ratio, abs=0.01), program


def test_the_pass_of_the_task_tries_its_sequences(tmp_path: Path) -> None:
    module, clang, opt = tmp_path / "in.bc", toolchain.tool("clang"), toolchain.tool("opt")
    subprocess.run([clang, "-Oz", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-w", "-c", PROGRAMS[0], "-o", module], check=True)
    policy = [f"-mlcb-runner=onnx:{shipped()['posetrl']}", f"-mlcb-vocabulary={toolchain.vocabulary()}", "-mlcb-candidates=2"]
    options = [f"-load-pass-plugin={toolchain.plugin()}", "-passes=posetrl", *policy, "-pass-remarks=mlcb", "-disable-output"]
    ways, kept = tried(subprocess.run([opt, *options, module], capture_output=True, text=True, timeout=120, check=True).stderr)
    assert list(ways) == ["posetrl 1", "posetrl 2", "default<Oz>"]
    assert ways[kept] == min(ways.values())


@pytest.mark.parametrize("task", ["posetrl", "function_size"])
@pytest.mark.parametrize("flags", [("-S",), ("-emit-llvm",)], ids=" ".join)
def test_what_is_no_object_is_decided_likewise(flags: tuple[str, ...], task: str, tmp_path: Path) -> None:
    """No fork goes on there: code is generated for the comparison, and once more by clang."""
    made = config(tmp_path, task, candidates=2)
    (of_text, kept), (of_object, expected) = (tried(compile_(made, PROGRAMS[0], tmp_path / "kept.out", *more)) for more in (flags, ()))
    assert kept == expected
    by_stock = {"posetrl": "default<Oz>", "function_size": "stock"}[task]
    by_text, by_object = ({way: size - sizes[by_stock] for way, size in sizes.items()} for sizes in (of_text, of_object))
    assert by_text == by_object


def test_policies_of_pipelines_and_of_code_add_up(tmp_path: Path) -> None:
    """Try the candidates of each function on the pipeline that stock code finds best."""
    both, seen = config(tmp_path, "posetrl", "function_size", candidates=2), set()
    for program in PROGRAMS:
        said = compile_(both, program, tmp_path / "kept.o")
        of_pipeline, kept = tried("".join(re.findall(r".*posetrl 1.*\n", said)))
        ways, best = tried(said)
        assert ways[best] <= ways["stock"] == of_pipeline[kept]
        seen.add(kept)
    assert len(seen) > 1, "programs of which each way is the smaller one"


def test_candidates_are_of_policies_of_which_an_answer_is_all(worker: WorkerSession, tmp_path: Path) -> None:
    several = make_policy(make_env(worker, max_steps=3), tmp_path / "several", seed=1)
    for policy in (several, shipped()["inliner"]):
        with pytest.raises(PolicyError, match=r"candidates=3: (posetrl|inliner) cannot be tried action by action: expected a policy that can"):
            write_clang_config(tmp_path / "mlcb.cfg", [policy], candidates=3)
        with pytest.raises(TaskError, match=r"several|inliner"):
            evaluate_metrics(policy, PROGRAMS[:1], candidates=(3,))


def test_actions_that_a_policy_prefers_are_tried_before_the_pipeline_is_compared(tmp_path: Path) -> None:
    made, seen = config(tmp_path, "function_posetrl", candidates=3), set()
    for program in PROGRAMS:
        said = compile_(made, program, tmp_path / "kept.o")
        by_pipeline, kept = tried("".join(re.findall(r".*function_posetrl: \d+ bytes.*\n", said)))
        assert by_pipeline[kept] == min(by_pipeline.values())
        if kept == "function_posetrl":
            ways, best = tried("".join(re.findall(r".*candidate 1.*\n", said)))
            assert list(ways) == ["candidate 2", "candidate 3", "candidate 1", LEAST]
            assert ways[best] == min(ways.values()) == by_pipeline[kept]
        compile_(None, program, tmp_path / "stock.o")
        assert allocated(tmp_path / "kept.o") <= allocated(tmp_path / "stock.o")
        seen.add(kept)
    assert "function_posetrl" in seen


def test_who_decides_the_passes_decides_the_attributes(tmp_path: Path) -> None:
    """The policy for attributes is asked where the pipeline is stock's."""
    for program in PROGRAMS:
        said = compile_(config(tmp_path, "function_posetrl", "function_size"), program, tmp_path / "kept.o")
        assert "function_posetrl: " in said
        assert "function_size: " not in said
        compile_(config(tmp_path, "function_posetrl"), program, tmp_path / "alone.o")
        assert (tmp_path / "kept.o").read_bytes() == (tmp_path / "alone.o").read_bytes()
