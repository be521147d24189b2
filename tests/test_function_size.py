# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The task that chooses attributes of functions: what is allowed, and what it leaves behind."""

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
import torch
from torch import nn

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.envs.action_lists import read_actions
from mlcb_gym.envs.function_size import FunctionSizeEnv
from mlcb_gym.errors import NoDecisions, TaskError
from mlcb_gym.export.export import export_module
from mlcb_gym.search.counterfactual import counterfactuals
from mlcb_gym.search.strategies import search_in
from mlcb_gym.session.plugin import PluginSession
from tests.support.functions import allowed, play, unoptimized
from tests.support.known_output import compile_
from tests.support.making import making

FRAME_POINTER, NO_TAIL_CALLS = "+frame-pointer=all", "+disable-tail-calls=true"
ACTIONS = read_actions("attributes")
Make = Callable[..., FunctionSizeEnv]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """An environment of the functions of a C source, none of which is inlined."""
    with making(FunctionSizeEnv) as make_:
        yield lambda source, *flags, **arguments: make_(programs=unoptimized(source, tmp_path, *flags), **arguments)


def test_every_change_of_a_plain_function_is_allowed(make: Make) -> None:
    assert allowed(make("int twice(int a) { return a * 2; }")) == [set(ACTIONS)]


@pytest.mark.parametrize("assembly", ['__asm__("mov %%RBP, %0" : "=r"(a))', '__asm__("" ::: "rbp")', '__asm__("nop")'])
def test_no_frame_pointer_where_assembly_may_need_its_register(assembly: str, make: Make) -> None:
    (texts,) = allowed(make(f"long f(long a) {{ {assembly}; return a; }}"))
    assert texts == {text for text in ACTIONS if FRAME_POINTER not in text}


@pytest.mark.parametrize(
    ("source", "end"),
    [
        ("int g(int); int f(int a) { return a ? g(a - 1) : 0; } int g(int a) { return a ? f(a - 1) : 1; }", [False, False]),
        ("int g(int a); int f(int a) { return g(a + 1); }", [False]),
        ("int f(int (*g)(int), int a) { return g(a + 1); }", [False]),
        ("int h(int a) { return a * a; } int g(int a) { return h(a + 1); } int f(int a) { return g(a + 2); }", [True, True, True]),
        ("int h(int); int g(int a) { return h(a + 1); } int f(int a) { return g(a + 2); }", [False, False]),
        ("int g(int); int f(int a) { int b = g(a); return b * b; }", [True]),
        ("int g(int); int f(int a) { __attribute__((musttail)) return g(a); }", [False]),
    ],
    ids=["each other", "elsewhere", "pointer", "chain", "chain that leaves", "no tail", "must"],
)
def test_tail_calls_are_kept_where_the_stack_may_need_them(source: str, end: list[bool], make: Make) -> None:
    assert [NO_TAIL_CALLS in texts for texts in allowed(make(source))] == end


def test_functions_that_are_not_to_be_small_are_not_asked_about(make: Make) -> None:
    source = '__attribute__((naked)) void f(void) { __asm__("ret"); } __attribute__((optnone, noinline)) int g(int a) { return a; }'
    with pytest.raises(NoDecisions):
        make(source).reset(options={"program": make(source).programs[0]})


def test_functions_without_an_unwind_table_are_not_asked_about(make: Make) -> None:
    env = make("int f(int a) { return a * 3; }", "-fno-asynchronous-unwind-tables")
    with pytest.raises(NoDecisions):
        env.reset(options={"program": env.programs[0]})


@pytest.mark.parametrize("text", ["+use-soft-float=true", "-optsize", "frame-pointer=all", "+frame-pointer=none", ""])
def test_changes_that_may_not_be_made_are_refused_by_name(text: str) -> None:
    with pytest.raises(TaskError, match=re.escape(f"'-minsize {text}': '{text}', expected 'keep', or some of -minsize")):
        FunctionSizeEnv(programs="embedded/train/fft", actions=["keep", f"-minsize {text}"]).reset()


def test_first_action_keeps(make: Make) -> None:
    for first in ("-minsize", "sroa"):
        with pytest.raises(TaskError, match=f"'{first}' first, expected 'keep'"):
            make("int f(int a) { return a; }", actions=[first, "keep"]).reset()


def test_keep_is_stock_to_the_byte(tmp_path: Path) -> None:
    (program,) = corpora.embedded("embedded/validation/huffman")
    compile_(program, "-Oz", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", output=tmp_path / "program.bc")
    with (
        closing(PluginSession(keep=tmp_path / "kept.bc")) as session,
        closing(FunctionSizeEnv(programs=tmp_path / "program.bc", session=session)) as env,
    ):
        play(env, lambda mask: 0)
    subprocess.run([toolchain.tool("opt"), "-passes=default<Oz>", "program.bc", "-o", "stock.bc"], cwd=tmp_path, check=True)
    for name in ("kept", "stock"):
        compile_(tmp_path / f"{name}.bc", "-Oz", "-Xclang", "-disable-llvm-passes", "-c", output=tmp_path / f"{name}.o")
    assert (tmp_path / "kept.o").read_bytes() == (tmp_path / "stock.o").read_bytes()


class Second(nn.Module):
    """Prefers the second of two actions."""

    def forward(self, observation: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return observation["functions"].float() * torch.zeros(1, 2) + torch.tensor([[0.0, 1.0]])


def test_passes_after_the_pipeline_leave_no_analysis_of_before(tmp_path: Path) -> None:
    (tmp_path / "source.c").write_text("int g(int); int f(int n, int *p) { if (n > 3 && p[0]) { while (n--) g(n); } return p[1]; }")
    with closing(FunctionSizeEnv(programs=tmp_path / "source.c", actions=["keep", "break-crit-edges"])) as env:
        policy = export_module(Second(), env, tmp_path / "policy")
    asking = [f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-runner=onnx:{policy}", "-mllvm", "-verify-analysis-invalidation"]
    compile_(tmp_path / "source.c", "-Oz", "-S", "-emit-llvm", "-fno-discard-value-names", *asking, output=tmp_path / "ours.ll")
    assert "crit_edge:" in (tmp_path / "ours.ll").read_text()


def test_search_of_each_decision_for_itself_finds_what_forks_find(make: Make) -> None:
    source = corpora.embedded("embedded/train/sha256")[0].read_text()
    env, forked = make(source, dense=True), make(source)
    found = search_in(env)(env.programs[0])
    expected = counterfactuals(forked, forked.programs[0], forked.default_action, decisions=1000)
    assert len(found) == len(expected) > 1
    for one, other in zip(found, expected, strict=True):
        assert one.outcomes == pytest.approx(other.outcomes, abs=0.004)  # what a function's padding takes
    assert min(one.outcomes.min() for one in found) < 1


def test_search_wants_to_see_every_step(make: Make) -> None:
    env = make("int f(int a) { return a; }")
    with pytest.raises(TaskError, match="expected dense=True"):
        search_in(env)(env.programs[0])
