# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pass that orders passes: what an action may say, what it leaves behind, and which actions are allowed next."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus.split import function_bodies
from mlcb_gym.envs.action_lists import read_actions
from mlcb_gym.envs.halves import Info
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import NoDecisions, TaskError
from mlcb_gym.session import WorkerSession
from mlcb_gym.session.plugin import PluginSession
from tests.support.posetrl import ACTIONS, SOURCE

MODULES = Path(__file__).parent / "modules"

Make = Callable[..., PosetRLEnv]
Seen = tuple[Observation, Info]

UNOPTIMIZED = ("-Oz", "-Xclang", "-disable-llvm-passes")
CALLS = "int next(int x) { return x * 3 + 1; }\nint over(int x) { return next(next(x)); }\n"
TWINS = "\n".join(f"int {name}(int *p, int x) {{ p[0] = x * 3; p[1] = x ^ 7; return p[2] / (x | 1); }}" for name in ("one", "other"))
ALWAYS_INLINE = """
__attribute__((always_inline)) static inline int square(int x) { return x * x; }
int squares(int x) { return square(x) + square(x + 1); }
"""
OPTNONE = """
__attribute__((always_inline)) static inline int one(void) { return 1; }
__attribute__((optnone, noinline)) int plain(int x) { int twice = x + x; if (twice > 4) twice -= 2 * 2; return twice; }
int tuned(int x) { int thrice = plain(x) + x; return thrice + one(); }
"""
SHIPPED = list(dict.fromkeys(text for name in ("default", "coreset", "odg", "manual", "extended") for text in read_actions(name) if text != "stop"))


@pytest.fixture
def source(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        (tmp_path / "source.c").write_text(text)
        return tmp_path / "source.c"

    return write


def play(env: PosetRLEnv, *actions: int) -> Iterator[Seen]:
    """The first state of an episode, and that after each of the actions."""
    yield env.reset(seed=1)
    for action in actions:
        observation, *_, info = env.step(action)
        assert "error" not in info
        yield observation, info


def instructions(env: PosetRLEnv, *actions: int) -> list[int]:
    return [int(observation["instructions"][0]) for observation, _ in play(env, *actions)]


def masks(env: PosetRLEnv, *actions: int) -> list[list[int]]:
    return [observation["action_mask"].tolist() for observation, _ in play(env, *actions)]


def bitcode_after(source: Path, actions: Sequence[str], **arguments: str) -> Path:
    """Return what `opt` leaves after all of the actions, each taken if it is allowed, and stop."""
    kept = source.with_suffix(".out.bc")
    texts = [*actions, "stop"]
    with closing(PluginSession(keep=kept)) as session:
        env = PosetRLEnv(programs=source, actions=texts, reward="none", max_steps=len(texts) + 1, session=session, **arguments)  # type: ignore[arg-type]
        observation, _ = env.reset()
        for action in range(len(texts)):
            if observation["action_mask"][action]:
                observation, _, ended, _, info = env.step(action)
                assert "error" not in info
        assert ended
    return kept


def bodies(module: Path) -> list[list[str]]:
    return function_bodies(subprocess.run([toolchain.tool("llvm-dis"), module, "-o", "-"], check=True, capture_output=True, text=True).stdout)


def compiled(source: Path, *flags: str) -> bytes:
    command: list[str | Path] = [toolchain.tool("clang"), "-w", "-c", *flags, source, "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("function(no-such-pass)", "unknown function pass 'no-such-pass'"),
        ("function(iroutliner)", "unknown function pass 'iroutliner'"),
        ("function(simplifycfg<no-such-parameter>)", "invalid SimplifyCFG pass parameter 'such-parameter'"),
        ("default<O7>", "O7"),
        ("codegenprepare", "pass 'codegenprepare' is never an action: it miscompiles or crashes in LLVM 22"),
        ("function(mem2reg,dot-cfg)", "pass 'dot-cfg' is never an action: it writes files"),
        ("dot-callgraph", "pass 'dot-callgraph' is never an action: it writes files"),
        ("function(loop(dot-ddg))", "pass 'dot-ddg' is never an action: it writes files"),
        ("function(view-dom)", "pass 'view-dom' is never an action: it writes files"),
        ("insert-gcov-profiling", "pass 'insert-gcov-profiling' is never an action: it writes files"),
        ("memprof-use<profile-filename=/etc/passwd>", "pass 'memprof-use' is never an action: it reads files"),
        ("function(lower-invoke),default<Oz>", "pass 'lower-invoke' is never an action: it changes what a program does"),
        ("{force-attribute=main:noreturn} default<Oz>", "option 'force-attribute' is never set by an action: it changes what code means"),
        ("{info-output-file=here} default<Oz>", "option 'info-output-file' is never set by an action: it may open a file, or start a program"),
        ("{lowertypetests-write-summary=main.c} lowertypetests", "option 'lowertypetests-write-summary' is never set by an action: it may open"),
        ("{-dot-cfg-mssa=1} function(print<memoryssa>)", "option '-dot-cfg-mssa' is never set by an action: it may open a file"),
        ("{memprof-export-to-dot} default<Oz>", "option 'memprof-export-to-dot' is never set by an action: it may open a file"),
        ("{fs-viewbfi-before} default<Oz>", "option 'fs-viewbfi-before' is never set by an action: it may open a file, or start a program"),
        ("{exec-on-ir-change=true} default<Oz>", "option 'exec-on-ir-change' is never set by an action: it may open a file, or start a program"),
        ("{help} default<Oz>", "option 'help' is never set by an action"),
        ("{thinlto-workload-def=here} default<Oz>", "option 'thinlto-workload-def' does not take 'here', expected a number, true, false, or a word"),
        ("{default-gcov-version=here} default<Oz>", "option 'default-gcov-version' does not take 'here'"),
        ("{cfg-dot-filename-prefix=/tmp/x} default<Oz>", "option 'cfg-dot-filename-prefix' is never set by an action"),
        ("{no-such-option=1} default<Oz>", "LLVM has no option 'no-such-option'"),
        ("{} default<Oz>", "LLVM has no option ''"),
        ("{inline-threshold=many} default<Oz>", "option 'inline-threshold' does not take 'many'"),
        ("{inline-threshold} default<Oz>", "option 'inline-threshold' needs a value"),
        ("{inline-threshold=1 default<Oz>", "a '{' without its '}'"),
        ("function(mem2reg", "invalid pipeline 'function(mem2reg'"),
        ("function(mem2reg))", "invalid pipeline 'function(mem2reg))'"),
        ("default<Oz", "default<Oz"),
        ("function(mem2reg),", "unknown module pass ''"),
        ("", "a stage without a pipeline"),
        (" ", "a stage without a pipeline"),
        ("{inline-threshold=1}", "a stage without a pipeline"),
        ("function(mem2reg) ; ", "a stage without a pipeline"),
        ("default<Oz> ; stop", "unknown pass name 'stop'"),
        ("function(" * 65, "a pipeline nested too deeply, expected at most 64 parentheses within each other"),
    ],
)
def test_wrong_action_is_named_with_the_reason(make_env: Make, text: str, reason: str) -> None:
    with pytest.raises(TaskError) as caught:
        make_env(actions=["function(mem2reg)", text, "stop"])
    message = str(caught.value)
    assert message.startswith(f"posetrl: action '{text}': ")
    assert reason in message.removeprefix(f"posetrl: action '{text}'")


@pytest.mark.parametrize("actions", [[], [1, 2]])
def test_actions_that_are_no_texts_are_refused(make_env: Make, actions: list[object]) -> None:
    with pytest.raises(TaskError, match="actions"):
        make_env(actions=actions)


def test_wrong_action_does_not_end_the_worker(make_env: Make, worker: WorkerSession) -> None:
    make_env()
    before = worker.pid
    with pytest.raises(TaskError):
        make_env(actions=["{inline-threshold=many} default<Oz>"])
    make_env().reset(seed=1)
    assert worker.pid == before


def test_option_holds_for_its_stage_alone(make_env: Make, source: Callable[[str], Path]) -> None:
    never, plain = "{inline-threshold=-100000} cgscc(inline)", "cgscc(inline)"
    env = make_env(programs=source(CALLS), actions=["function(sroa)", never, plain, f"{never} ; {plain}"])
    _, prepared, untouched, inlined = instructions(env, 0, 1, 2)
    assert prepared == untouched != inlined
    assert instructions(env, 0, 2)[-1] == inlined
    assert instructions(env, 0, 3)[-1] == inlined


def test_option_holds_again_when_its_action_is_used_again(make_env: Make, source: Callable[[str], Path]) -> None:
    env = make_env(programs=source(CALLS), actions=["function(sroa)", "{inline-threshold=-100000} cgscc(inline)", "cgscc(inline)"])
    start, first, prepared, second, inlined = instructions(env, 1, 0, 1, 2)
    assert start == first
    assert prepared == second != inlined


def test_option_that_shapes_a_pipeline_holds_for_its_action_alone(make_env: Make, source: Callable[[str], Path]) -> None:
    env = make_env(programs=source(TWINS), actions=["{enable-merge-functions} default<Oz>", "default<Oz>"], reward="size")
    _, (_, merged) = play(env, 0)
    _, (_, plain) = play(env, 1)
    assert merged["size"] < plain["size"] == plain["size_oz"]


@pytest.mark.parametrize(("functions", "outlined"), [(20, True), (600, False)])
def test_large_modules_are_not_outlined(make_env: Make, source: Callable[[str], Path], functions: int, outlined: bool) -> None:
    """LLVM's outliner takes time that grows faster than the module."""
    alike = "\n".join(
        f"void f{index}(int *p, int x) {{ p[0] = x * 3; p[1] = x ^ 7; p[2] = x + {index}; p[3] = x / 5; }}" for index in range(functions)
    )
    before, after = instructions(make_env(programs=source(alike), actions=["iroutliner"], start="unoptimized"), 0)
    assert (before != after) == outlined


def test_module_whose_outlined_code_would_lose_an_output_stays_as_it_was(make_env: Make) -> None:
    env = make_env(actions=["iroutliner", "stop"], programs=MODULES / "lost_output.ll", metrics=("ir_instructions",))
    _, before = env.reset(seed=1)
    _, _, _, _, after = env.step(0)
    assert after["ir_instructions"] == before["ir_instructions"]


def test_stop_leaves_the_module_as_it_was(make_env: Make) -> None:
    (before, first), (after, last) = play(make_env(actions=["stop", "default<Oz>"]), 0)
    assert last["size"] == first["size"]
    np.testing.assert_equal(after["embedding"], before["embedding"])


def test_actions_without_stop_end_at_the_horizon_alone(make_env: Make) -> None:
    env = make_env(actions=["default<Oz>", "function(mem2reg)"], max_steps=2)
    env.reset(seed=1)
    assert [env.step(0)[2], env.step(1)[2]] == [False, True]


def test_action_may_be_taken_twice(make_env: Make) -> None:
    (*_, (last, _)) = play(make_env(actions=["function(mem2reg)", "function(reg2mem)"]), 1, 0, 1, 0)
    assert last["last_actions"].tolist() == [0, 1, 0, 1]


def test_action_that_changes_nothing_is_masked_until_the_module_changes(make_env: Make) -> None:
    mem2reg, simplify = range(2)
    env = make_env(actions=["function(mem2reg)", "function(instcombine,simplifycfg)", "stop"])
    assert masks(env, mem2reg, mem2reg, simplify) == [[1, 1, 1], [1, 1, 1], [0, 1, 1], [1, 1, 1]]
    env.reset(seed=1)
    env.step(mem2reg)
    env.step(mem2reg)
    *_, info = env.step(mem2reg)
    assert info["error"] == "illegal action 0: action_mask does not allow it"


def test_barred_action_stays_masked_and_is_illegal(make_env: Make) -> None:
    env = make_env(actions=["function(mem2reg)", "default<Oz>", "stop"], forbidden=(1,))
    assert masks(env, 0) == [[1, 0, 1], [1, 0, 1]]
    assert env.step(1)[4]["error"] == "illegal action 1: action_mask does not allow it"


@pytest.mark.parametrize("index", [-1, 2])
def test_barred_action_that_does_not_exist_is_named(make_env: Make, index: int) -> None:
    with pytest.raises(TaskError, match=f"^forbidden={index}: expected indices of actions, from 0 to 1$"):
        make_env(actions=["function(mem2reg)", "stop"], forbidden=(0, index))


def test_nothing_to_decide_where_all_is_barred(make_env: Make, program: Path) -> None:
    with pytest.raises(NoDecisions, match=r"^sum.c: "):
        make_env(actions=["function(mem2reg)", "stop"], forbidden=(0, 1)).reset(options={"program": program})


def test_episode_ends_when_every_unique_action_is_used(make_env: Make) -> None:
    env = make_env(actions=["function(mem2reg)", "default<Oz>"], unique=True)
    assert masks(env, 0) == [[1, 1], [0, 1]]
    last, _, terminated, truncated, info = env.step(1)
    assert (terminated, truncated) == (True, False)
    assert "error" not in info
    assert last["action_mask"].tolist() == [1, 1]


def test_start_oz_is_what_clang_makes_of_it(source: Callable[[str], Path]) -> None:
    program = source(SOURCE + TWINS)
    started = bitcode_after(program, [], start="Oz")
    assert compiled(started, *UNOPTIMIZED) == compiled(program, "-Oz", "-fno-ident")


def test_oz_as_an_action_is_what_clang_makes_of_it(source: Callable[[str], Path]) -> None:
    program = source(SOURCE + TWINS)
    assert compiled(bitcode_after(program, ["default<Oz>"]), *UNOPTIMIZED) == compiled(program, "-Oz", "-fno-ident")


def test_always_inline_function_is_inlined_at_the_start(source: Callable[[str], Path]) -> None:
    (squares,) = bodies(bitcode_after(source(ALWAYS_INLINE), []))
    assert not [line for line in squares if "@square" in line]


def test_start_is_measured_after_always_inline(make_env: Make, source: Callable[[str], Path]) -> None:
    _, info = make_env(programs=source(ALWAYS_INLINE), dense=True, reward="poset").reset(seed=1)
    assert info["size"] == info["size_unoptimized"]


def test_optnone_function_survives_every_shipped_action(source: Callable[[str], Path]) -> None:
    program = source(OPTNONE)
    plain, tuned = bodies(bitcode_after(program, []))
    after = bodies(bitcode_after(program, SHIPPED))
    assert after[0] == plain
    assert after[1] != tuned


def test_three_workers_see_the_same_whatever_they_did_before(program: Path) -> None:
    fft = "embedded/train/fft"
    seen = []
    for earlier in (fft, program, "embedded/test/nbody"):
        with closing(WorkerSession()) as session:
            env = PosetRLEnv(programs=fft, actions=ACTIONS, reward="poset", session=session)
            env.reset(options={"program": earlier})
            env.step(2)
            seen.append(list(play(env, 0, 1, 2, 3)))
    np.testing.assert_equal(seen[1], seen[0])
    np.testing.assert_equal(seen[2], seen[0])
