# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every policy that ships fits this build, decides alike in every runtime, and has a card."""

import re
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from mlcb_gym.corpus.corpora import embedded
from mlcb_gym.corpus.loops.kernels import kernels, source
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import experimental, shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy, in_process
from mlcb_gym.rollout.play import episode, play
from mlcb_gym.session import WorkerSession
from mlcb_gym.spec import bind
from tests.support.known_output import OUTPUTS, compile_, run
from tests.support.loops import SPLIT, remarks, sums

POLICIES = sorted(shipped().items())
LOOPS = "loops/validation"
PROGRAMS = ("embedded/test/aes", "embedded/test/btree", "embedded/validation/huffman")


@pytest.mark.parametrize(("name", "folder"), POLICIES, ids=lambda value: str(value))
def test_policy_is_bound_to_this_build(name: str, folder: Path) -> None:
    manifest = OnnxPolicy(folder).manifest
    assert bind(manifest["task"], manifest["parameters"]).digest == manifest["digest"]


@pytest.mark.parametrize(("name", "folder"), POLICIES, ids=lambda value: str(value))
def test_policy_decides_alike_in_process(name: str, folder: Path, worker: WorkerSession) -> None:
    policy = OnnxPolicy(folder)
    programs = LOOPS if policy.task == "loop_distribution" else PROGRAMS
    seen: list[Observation] = []

    def choose(observation: Observation) -> Action:
        seen.append(deepcopy(observation))
        return env.action(policy.advice(observation))

    env = env_class(policy.task)(programs=programs, session=worker, **policy.env_arguments)
    traces = list(play([env], (episode(program, choose) for program in resolve(programs))))
    assert not any(trace.error for trace in traces)
    assert in_process(f"onnx:{folder}", seen) == [policy.advice(observation) for observation in seen]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"guard": True}, {"candidates": 3}], ids=["alone", "guarded", "3 candidates"])
@pytest.mark.parametrize(
    "tasks", [("function_posetrl",), ("function_size",), ("rl4real",), ("function_posetrl", "function_size", "eviction")], ids="+".join
)
@pytest.mark.parametrize("program", sorted(OUTPUTS))
def test_every_embedded_program_built_by_policies_prints_the_same(
    program: str, tasks: Sequence[str], options: dict[str, Any], tmp_path: Path
) -> None:
    config = write_clang_config(tmp_path / "mlcb.cfg", [dict(POLICIES)[task] for task in tasks], **options)
    level = "-O2" if tasks == ("rl4real",) else "-Oz"
    compile_(embedded(f"embedded/{program}")[0], f"--config={config}", level, "-lm", output=tmp_path / "program")
    assert run(tmp_path / "program") == OUTPUTS[program]


@pytest.mark.parametrize(("name", "folder"), POLICIES, ids=lambda value: str(value))
def test_policy_has_a_card(name: str, folder: Path) -> None:
    text = (folder / "README.md").read_text()
    assert text.startswith("# ")
    assert [title for title in ("## How it came about", "## Results", "## Limits", "## Data and licence") if title not in text] == []


@pytest.mark.parametrize(("name", "folder"), experimental().items(), ids=lambda value: str(value))
def test_first_sentence_of_an_experimental_policys_card_says_so(name: str, folder: Path) -> None:
    _, first, *_ = (folder / "README.md").read_text().split("\n\n")
    assert first.startswith("This policy does not beat the best baseline that learns nothing")


def test_page_of_results_names_the_experimental_policies() -> None:
    page = (Path(__file__).parents[1] / "docs/results.md").read_text()
    (named,) = re.findall(r"^((?:`\w+`, )+`\w+` and `\w+`) are \*experimental\*", page, re.MULTILINE)
    assert sorted(re.findall(r"\w+(?=`)", named)) == list(experimental())


def test_loops_that_the_policy_splits_print_the_same(tmp_path: Path) -> None:
    write_clang_config(tmp_path / "mlcb.cfg", [shipped()["loop_distribution"]], guard=False)
    text = source(kernels())
    assert sums(tmp_path, text, f"--config={tmp_path}/mlcb.cfg", "-O3") == sums(tmp_path, text, "-O0")
    said = remarks(tmp_path, text, f"--config={tmp_path}/mlcb.cfg", "-O3")
    assert len({parts for _, parts, _ in SPLIT.findall(said)}) > 1  # some are split, some are not
