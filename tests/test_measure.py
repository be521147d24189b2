# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes are those of the object file to the byte; throughput is llvm-mca's, and calls are neither paid nor punished for nothing."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.envs.posetrl import PosetRLEnv, rewards
from mlcb_gym.errors import CompilerError, ProgramError
from mlcb_gym.session import Target, WorkerSession
from mlcb_gym.session.plugin import PluginSession

STEPS = 6
EMBEDDED = [program.name for program in resolve("embedded")]
SAMPLE = EMBEDDED[::6]
CORPUS_MODULES = 40

SROA, INLINE, OZ = ACTIONS = ["function(sroa,simplifycfg)", "cgscc(inline)", "default<Oz>"]
Cycles = Callable[..., list[float]]


@pytest.mark.parametrize("name", SAMPLE)
def test_size_after_random_actions_is_that_of_the_object(name: str, tmp_path: Path) -> None:
    assert_sizes_are_exact(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["unoptimized", "Oz"])
@pytest.mark.parametrize("name", EMBEDDED)
def test_size_of_every_embedded_program_is_that_of_the_object(name: str, start: str, tmp_path: Path) -> None:
    assert_sizes_are_exact(name, tmp_path, start=start)


@pytest.mark.slow
@pytest.mark.parametrize("index", range(CORPUS_MODULES))
def test_size_of_modules_of_the_corpus_is_that_of_the_object(index: int, corpus: list[Program], tmp_path: Path) -> None:
    assert_sizes_are_exact(corpus[index * len(corpus) // CORPUS_MODULES], tmp_path)


def test_cycles_of_straight_code_are_those_of_llvm_mca(cycles: Cycles, tmp_path: Path) -> None:
    text = "long f(long *p, long a) { p[2] = (p[0] * a + p[1]) / (a ^ 13); return p[3] * 7; }"
    assert cycles(text, OZ)[-1] == pytest.approx(mca(text, tmp_path), rel=0.02)


def test_loop_costs_as_often_as_it_runs(cycles: Cycles) -> None:
    (hundred,), (thousand,) = cycles(loop(back=99), suffix="ll"), cycles(loop(back=999), suffix="ll")
    assert thousand == pytest.approx(10 * hundred, rel=0.1)


def test_loop_costs_more_than_its_body(cycles: Cycles) -> None:
    once = cycles("int f(int *p) { return p[0] % 7; }", SROA)[-1]
    assert cycles("int f(int *p) { int s = 0; for (int i = 0; i < 40; i++) s += p[i] % 7; return s; }", SROA)[-1] > 10 * once


TINY_IN_HOT_LOOP = """
{linkage} int tiny(int x) {{ return 3 * x + 1; }}
int hot(int *p, int n) {{ int s = 0; for (int i = 0; i < n; i++) s += tiny(p[i]); return s; }}
"""


@pytest.mark.parametrize("linkage", ["static", "inline", "", "__attribute__((weak))"])
def test_inlining_a_tiny_function_into_a_hot_loop_does_not_cost(linkage: str, cycles: Cycles) -> None:
    _, called, inlined = cycles(TINY_IN_HOT_LOOP.format(linkage=linkage), SROA, INLINE, suffix="cpp")
    assert inlined <= called


WORK = "long work(long a) { for (int i = 0; i < 9; i++) a = a * a / (a + 3); return a; }"
CALLER = "static long work(long); long f(long a) { return CALLS; } static " + WORK


def test_function_counts_as_often_as_it_is_called(cycles: Cycles) -> None:
    work = cycles(WORK, SROA)[-1]
    once, thrice = (cycles(CALLER.replace("CALLS", calls), SROA)[-1] for calls in ("work(a)", "work(work(work(a)))"))
    assert once == pytest.approx(work, rel=0.05)
    assert thrice == pytest.approx(3 * work, rel=0.05)


def test_recursion_costs_more_than_one_level_and_is_bounded(cycles: Cycles) -> None:
    tree = "int f(int n, int *p) {{ int s = p[n] % 7; if (n > 0) for (int i = 0; i < n; i++) s += {call}; return s; }}"
    flat = cycles(tree.format(call="p[i]"), SROA)[-1]
    assert flat < cycles(tree.format(call="f(n - 1, p)"), SROA)[-1] < 100 * flat


@pytest.mark.parametrize("where", ['section(".text.startup")', 'section(".text.elsewhere")', "cold", "hot", "aligned(64)"])
def test_section_of_a_function_does_not_matter(where: str, cycles: Cycles) -> None:
    text = "{where} long first(long *p) {{ return p[1] / p[2]; }} long second(long *p) {{ return p[1] * p[2] + first(p); }}"
    marked, plain = (cycles(text.format(where=f"__attribute__(({marks}))"), SROA) for marks in (f"noinline,{where}", "noinline"))
    assert marked == plain


def test_sizes_count_every_text_section(tmp_path: Path) -> None:
    program = tmp_path / "sections.c"
    program.write_text(
        """
        __attribute__((cold)) int rare(int x) { return x / 7; }
        int f(int x) { return x < 0 ? rare(x) : x; }
        int main(void) { return f(1); }
        """
    )
    assert_sizes_are_exact(program, tmp_path)


def test_modules_with_numbered_labels_are_measured_one_after_another(cycles: Cycles) -> None:
    """LLVM does not forget such labels of the module before."""
    assert cycles('int f(int v) { asm volatile("1: nop; jmp 1b"); return v; } int g(int v) { return v * v; }', SROA, OZ)


CALLS = """
target triple = "x86_64-pc-linux-gnu"
define i32 @f(i32 %x) noinline !prof !0 {
  %y = add i32 %x, 1
  ret i32 %y
}
define i32 @g(i32 %x) !prof !0 {
  %y = call i32 @f(i32 %x)
  %z = call i32 @f(i32 %y)
  ret i32 %z
}
!0 = !{!"function_entry_count", i64 100}
"""
CALL_GRAPH_PROFILE = """
!llvm.module.flags = !{!1}
!1 = !{i32 5, !"CG Profile", !2}
!2 = distinct !{!3}
!3 = !{ptr @g, ptr @f, i64 100}
"""
PSEUDO_PROBES = """
declare void @llvm.pseudoprobe(i64, i64, i32, i64)
define void @h() !dbg !5 {
  call void @llvm.pseudoprobe(i64 7, i64 1, i32 0, i64 -1), !dbg !8
  ret void, !dbg !8
}
!llvm.dbg.cu = !{!4}
!llvm.module.flags = !{!7}
!llvm.pseudo_probe_desc = !{!6}
!4 = distinct !DICompileUnit(language: DW_LANG_C99, file: !9, emissionKind: FullDebug)
!5 = distinct !DISubprogram(name: "h", file: !9, line: 1, type: !10, unit: !4)
!6 = !{i64 7, i64 4294967295, !"h"}
!7 = !{i32 2, !"Debug Info Version", i32 3}
!8 = !DILocation(line: 1, scope: !5)
!9 = !DIFile(filename: "h.c", directory: "/")
!10 = !DISubroutineType(types: !{})
"""


PRINTED = {
    "call graph profile": CALLS + CALL_GRAPH_PROFILE,
    "call graph profile of -Oz": CALLS,
    "pseudo probes": CALLS.replace(" !prof !0", "") + PSEUDO_PROBES,
}


@pytest.mark.parametrize("text", PRINTED.values(), ids=PRINTED.keys())
def test_what_was_printed_before_does_not_matter(text: str, tmp_path: Path) -> None:
    """LLVM's streamers do not forget the relocations of a call graph profile when they are reset, nor its printers pseudo probes."""
    program = tmp_path / "profiled.ll"
    program.write_text(text)
    assert_sizes_are_exact(program, tmp_path, steps=1)


@pytest.mark.parametrize("reward", rewards("unoptimized"))
def test_nothing_left_by_oz_is_rewarded(reward: str, worker: WorkerSession, tmp_path: Path) -> None:
    program = tmp_path / "nothing.ll"
    program.write_text('target triple = "x86_64-pc-linux-gnu"\ndefine void @f() nounwind {\n  unreachable\n}\n')
    with closing(PosetRLEnv(programs=program, actions=ACTIONS, reward=reward, session=worker)) as env:
        env.reset()
        assert env.step(ACTIONS.index(OZ))[1] == 0.0


def test_measuring_prints_nothing(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with closing(WorkerSession()) as session:
        assert measured("int g(int); int f(int x) { return g(x) + g(x + 1); }", OZ, folder=tmp_path, session=session)
    assert capfd.readouterr() == ("", "")


def test_cpu_without_a_scheduling_model_is_named(worker: WorkerSession, tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match="cpu 'i686' has no scheduling model"):
        measured("int f(void) { return 1; }", folder=tmp_path, session=worker, target=Target(cpu="i686"))


@pytest.fixture
def cycles(worker: WorkerSession, tmp_path: Path) -> Cycles:
    """The throughput of a program at the start and after each action."""
    return lambda text, *actions, suffix="c": measured(text, *actions, folder=tmp_path, session=worker, suffix=suffix)


@pytest.fixture(scope="module")
def corpus() -> Iterator[list[Program]]:
    try:
        yield list(resolve("default/train"))
    except ProgramError as error:
        pytest.skip(str(error))


def measured(text: str, *actions: str, folder: Path, session: WorkerSession, suffix: str = "c", target: Target = Target()) -> list[float]:
    program = folder / f"program.{suffix}"
    program.write_text(text)
    with closing(PosetRLEnv(programs=program, actions=ACTIONS, reward="throughput", target=target, session=session)) as env:
        _, info = env.reset(options={"program": program})
        return [info["throughput"], *(env.step(ACTIONS.index(action))[-1]["throughput"] for action in actions)]


def loop(*, back: int) -> str:
    """A loop of ``back + 1`` iterations, as its profile says."""
    return f"""
    target triple = "x86_64-pc-linux-gnu"
    define i64 @f(ptr %p, i64 %n) {{
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
      %at = getelementptr i64, ptr %p, i64 %i
      %value = load i64, ptr %at
      %more = add i64 %sum, %value
      %next = add i64 %i, 1
      %again = icmp ult i64 %next, %n
      br i1 %again, label %loop, label %exit, !prof !0
    exit:
      ret i64 %more
    }}
    !0 = !{{!"branch_weights", i32 {back}, i32 1}}
    """


def mca(text: str, folder: Path) -> float:
    """Cycles of a run of the code among many, by LLVM's own tool."""
    source, assembly = folder / "straight.c", folder / "straight.s"
    source.write_text(text)
    subprocess.run([toolchain.tool("clang"), "-Oz", "-fPIC", "-S", source, "-o", assembly], check=True)
    return (total_cycles(assembly, iterations=200) - total_cycles(assembly, iterations=100)) / 100


def total_cycles(assembly: Path, *, iterations: int) -> int:
    command = [str(toolchain.tool("llvm-mca")), "-mcpu=x86-64", f"-iterations={iterations}", str(assembly)]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", report)[1])  # type: ignore[index]


def assert_sizes_are_exact(program: ProgramsLike, folder: Path, *, start: str = "unoptimized", steps: int = STEPS) -> None:
    """Of every state in an episode of random actions: episodes of one seed, each a step longer than the one before."""
    kept = folder / "kept.bc"
    with closing(PluginSession(keep=kept)) as session:
        for length in range(1, steps + 1):
            env = PosetRLEnv(programs=program, start=start, max_steps=length, session=session)
            last = random_episode(env)
            assert (last["size"], last["text"]) == object_size(kept), f"after {length} steps"


def random_episode(env: PosetRLEnv) -> dict[str, int]:
    """Takes random allowed actions other than stop, to the end; what was measured last."""
    rng = np.random.default_rng(7)
    observation, info = env.reset(seed=7)
    ended = False
    while not ended:
        action = int(rng.choice(np.flatnonzero(observation["action_mask"])[:-1]))
        observation, _, ended, _, info = env.step(action)
        assert "error" not in info
    return info


def object_size(module: Path) -> tuple[int, int]:
    """Bytes of all allocated sections but BSS, and of the executable ones, in the object that LLVM's own tool makes."""
    made = module.with_suffix(".o")
    subprocess.run([toolchain.tool("llc"), "-relocation-model=pic", "-filetype=obj", module, "-o", made], check=True)
    command = [str(toolchain.tool("llvm-readobj")), "--sections", "--elf-output-style=JSON", str(made)]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    sections = [entry["Section"] for entry in report[0]["Sections"] if entry["Section"]["Type"]["Name"] != "SHT_NOBITS"]
    flags = [{flag["Name"] for flag in section["Flags"]["Flags"]} for section in sections]
    return (
        sum(section["Size"] for section, has in zip(sections, flags, strict=True) if "SHF_ALLOC" in has),
        sum(section["Size"] for section, has in zip(sections, flags, strict=True) if {"SHF_ALLOC", "SHF_EXECINSTR"} <= has),
    )
