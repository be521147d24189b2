# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The task that chooses passes and attributes of functions: what is allowed, and what it comes to."""

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
from mlcb_gym.envs.function_posetrl import FunctionPosetRLEnv
from mlcb_gym.errors import NoDecisions, TaskError
from mlcb_gym.export.export import export_module
from mlcb_gym.search.strategies import search_in
from tests.support.functions import allowed, unoptimized
from tests.support.known_output import compile_
from tests.support.making import making
from tests.support.policies import forge

PASSES, BOTH, WITHOUT_MINSIZE = "sroa,instcombine,simplifycfg", "+frame-pointer=all ; sroa,instcombine", "-minsize ; sroa"
LOOP = "int f(int *a, int n) { int s = 0; for (int i = 0; i < n; ++i) s += a[i] * 3; return s; }"

Make = Callable[..., FunctionPosetRLEnv]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """An environment of the functions of a C source, none of which is inlined."""
    with making(FunctionPosetRLEnv, actions=[PASSES, BOTH, WITHOUT_MINSIZE]) as make_:
        yield lambda source, *flags, **arguments: make_(programs=unoptimized(source, tmp_path, *flags), **arguments)


class Alike(nn.Module):
    """Rates two actions alike."""

    def forward(self, observation: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return observation["functions"].float() * torch.zeros(1, 2)


def final(env: FunctionPosetRLEnv, *actions: int) -> dict[str, float]:
    """Return the numbers that an episode of these actions ends with."""
    env.reset()
    for action in actions:
        *_, ended, _, info = env.step(action)
    assert ended
    assert "error" not in info
    return {name: value for name, value in info.items() if isinstance(value, (int, float))}


def test_passes_run_over_every_function_and_attributes_where_they_may(make: Make) -> None:
    assembly = 'long g(long a) { __asm__("nop"); return a; }'
    assert allowed(make(f"{LOOP} {assembly}")) == [{PASSES, BOTH, WITHOUT_MINSIZE}, {PASSES, WITHOUT_MINSIZE}]


def test_without_an_unwind_table_passes_alone_are_chosen(make: Make) -> None:
    flags = ("-fno-asynchronous-unwind-tables",)
    assert allowed(make(LOOP, *flags, actions=[PASSES, BOTH, "simplifycfg"])) == [{PASSES, "simplifycfg"}]


def test_functions_that_are_to_be_left_alone_are_not_asked_about(make: Make) -> None:
    source = '__attribute__((naked)) void f(void) { __asm__("ret"); } __attribute__((optnone, noinline)) int g(int a) { return a; }'
    with pytest.raises(NoDecisions):
        make(source).reset(options={"program": make(source).programs[0]})


def test_declarations_are_not_asked_about(make: Make) -> None:
    assert allowed(make("int g(int); int f(int a) { return g(a) + 1; }", actions=["sroa", "keep"])) == [{"sroa", "keep"}]


def test_an_action_does_what_its_passes_and_its_attributes_do(make: Make) -> None:
    actions = ["sroa", "loop(loop-unroll-full)", "+frame-pointer=all ; sroa"]
    unrolled = "int f(int *a) { int s = 0; for (int i = 0; i < 4; ++i) s += a[i]; return s; }"
    kept, unrolling, framed = (final(make(unrolled, actions=actions, reward="text", metrics=["ir_instructions"]), action) for action in range(3))
    assert kept["ir_instructions"] == framed["ir_instructions"]
    assert kept["ir_instructions"] != unrolling["ir_instructions"]
    assert kept["text"] != framed["text"]


def test_options_are_held_around_the_passes_alone(make: Make) -> None:
    actions = ["simplifycfg", "{two-entry-phi-node-folding-threshold=0} simplifycfg"]
    source = "int f(int a, int b) { return a > b ? a * 3 + 1 : b; }"
    env = make(source, actions=actions, pipeline="function(sroa)", reward="none", metrics=["ir_instructions"])
    before, held = final(env, 0), final(env, 1)
    assert before != held
    assert final(env, 0) == before


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ([BOTH, PASSES], f"{BOTH!r} first, expected 'keep', or passes alone"),
        ([PASSES, "+disable-tail-calls=true ; sroa"], "beside passes, which may make tail calls that the stack relies on"),
        ([PASSES, "+use-soft-float=true ; sroa"], "'+use-soft-float=true', expected 'keep', or some of -minsize"),
        ([PASSES, "stop"], "action 'stop': expected 'keep', or passes"),
        ([PASSES, "{version=1} sroa"], "option 'version' is never set by an action"),
        ([PASSES, "no-such-pass"], "action 'no-such-pass': unknown function pass 'no-such-pass'"),
        ([PASSES, "-minsize ; globaldce"], "action '-minsize ; globaldce': "),
        ([PASSES, "{no-such-option=1} sroa"], "no-such-option"),
        ([PASSES, "codegenprepare"], "codegenprepare"),
    ],
)
def test_an_action_that_may_not_be_is_refused_by_name(actions: list[str], why: str, make: Make) -> None:
    with pytest.raises(TaskError, match=re.escape(why)):
        make(LOOP, actions=actions).reset()


def test_search_finds_what_episodes_come_to(make: Make) -> None:
    source = corpora.embedded("embedded/train/sha256")[0].read_text()
    env = make(source, dense=True)
    found = search_in(env)(env.programs[0])
    best = [int(decision.outcomes.argmin()) for decision in found]
    assert len(set(best)) > 1, "functions that suit different actions"
    expected = sum(1 - decision.outcomes.min() for decision in found)
    ended = final(make(source), *best)
    assert 1 - ended["size"] / ended["size_default"] == pytest.approx(expected, abs=0.01)  # what padding takes


def compiled(option: str, changed: Mapping[str, object], folder: Path) -> subprocess.CompletedProcess[str]:
    """A compilation by a policy whose parameters were changed after it was exported."""
    (folder / "source.c").write_text(LOOP)
    with closing(FunctionPosetRLEnv(programs=folder / "source.c", actions=[PASSES, BOTH])) as env:
        policy = forge(export_module(Alike(), env, folder / "policy"), **changed)
    loaded = (f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-runner=onnx:{policy}", "-mllvm", option)
    command: list[str | Path] = [toolchain.tool("clang"), *loaded, "-Oz", "-c", folder / "source.c", "-o", folder / "made.o"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("option", "changed", "why"),
    [
        ("-mlcb-guard=false", {"pipeline": "no-such-pass"}, "function_posetrl/pipeline: unknown pass name 'no-such-pass'"),
        ("-mlcb-candidates=2", {"pipeline": "no-such-pass"}, "function_posetrl/pipeline: unknown pass name 'no-such-pass'"),
        ("-mlcb-guard=false", {"actions": ["no-such-pass", "sroa"]}, "action 'no-such-pass': unknown function pass 'no-such-pass' in pipeline "),
    ],
)
def test_policy_with_passes_that_llvm_has_not_ends_the_compilation(option: str, changed: dict[str, object], why: str, tmp_path: Path) -> None:
    done = compiled(option, changed, tmp_path)
    message, *rest = done.stderr.splitlines()
    assert done.returncode == 1
    assert message.startswith(f"error: mlcb: {why}")
    assert rest == ["1 error generated."]
    assert not (tmp_path / "made.o").exists()


@pytest.mark.parametrize("option", ["-mlcb-guard", "-mlcb-candidates=2"])
def test_guard_keeps_stock_where_no_action_can_be_taken(option: str, tmp_path: Path) -> None:
    assert compiled(option, {"actions": ["no-such-pass", "nor-this"]}, tmp_path).stderr == ""
    compile_(tmp_path / "source.c", "-Oz", "-c", output=tmp_path / "stock.o")
    assert (tmp_path / "made.o").read_bytes() == (tmp_path / "stock.o").read_bytes()
