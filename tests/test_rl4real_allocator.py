# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The allocator of our own: whoever decides, the machine code verifies and the program prints what it should."""

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.policies import shipped
from scripts.other_targets import TARGETS
from tests.support.allocation import allocator, clang_flags
from tests.support.known_output import CSMITH_FLAGS, OUTPUTS, SAMPLE, compile_, csmith, run
from tests.support.throwing import throwing
from tests.support.tiles import TILES

DECIDERS = ("heuristic", "optimum", "first", "last", "random:1")
SPLITS = (0, 2, 8)
LEVELS = ("-O1", "-O2")
THROWS = """
#include <cstdio>
#include <stdexcept>
#include <string>
int seven(int n) { if (n % 3 == 0) throw std::runtime_error("t" + std::to_string(n)); return n * 7; }
int main() {
  int sum = 0;
  for (int i = 0; i < 20; i++) { try { sum += seven(i); } catch (const std::exception &error) { sum += error.what()[1]; } }
  std::printf("%d\\n", sum);
}
"""
LOOPS = """
int other(int *, int *);
int loops(int *a, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) { int b[8]; sum += other(a, b) * i; for (int j = 0; j < 8; j++) sum ^= b[j] + a[j] * sum; }
  return sum;
}
"""


PATCHED = """
declare i64 @llvm.experimental.patchpoint.i64(i64, i32, ptr, i32, ...)
declare void @g()
define i64 @f() {
  %r = call anyregcc i64 (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.i64(i64 1, i32 16, ptr null, i32 0)
  call void @g()
  ret i64 %r
}
"""
"""A value that a call leaves in any register: what is left of it after a spill lives where all registers are clobbered."""
AT_ONCE = 1500
ONLY_A_JUMP = """
--- |
  target triple = "x86_64-pc-linux-gnu"
  declare void @g()
  define void @f(ptr %p) { ret void }
...
---
name: f
tracksRegLiveness: true
frameInfo: { hasCalls: true, adjustsStack: true }
body: |
  bb.0:
    liveins: $rdi
    %0:gr64 = COPY $rdi
    %1:gr64_nosp = MOV32ri64 3
    DOUBLED
  bb.1:
    CALL64pcrel32 @g, csr_64, implicit $rsp, implicit $ssp, implicit-def $rsp, implicit-def $ssp
  bb.2:
    successors: %bb.2, %bb.3, %bb.4
    %1 = IMUL64rri32 %1, 31, implicit-def dead $eflags
    MOV64mr %0, 1, $noreg, 0, $noreg, %1 :: (store (s64))
    DEC64m %0, 1, $noreg, 8, $noreg, implicit-def $eflags :: (load (s64)), (store (s64))
    JCC_1 %bb.4, 4, implicit $eflags
    JCC_1 %bb.3, 10, implicit $eflags
    JMP_1 %bb.2
  bb.3:
    successors: %bb.2
    JMP_1 %bb.2
  bb.4:
    RET 0
...
""".replace("DOUBLED", "\n    ".join(["%1 = LEA64r %1, 1, %1, 0, $noreg"] * 10))
"""A block that loops to itself, also by a block of a jump alone. The doublings make the first block a better region than it, which is last so."""
ASSEMBLY = """
long f(long *p) {
  long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], g = p[5], h = p[6], i = p[7];
  for (int k = 0; k < 100; k++) {
    __asm__("add %1, %0" : "+r"(a) : "r"(b));
    __asm__("add %1, %0" : "+r"(c) : "r"(d));
    __asm__ volatile("" ::: "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10");
    e ^= g + k;
    h += i * e;
  }
  return a + b + c + d + e + g + h + i;
}
"""
CALLS_F = """
#include <stdio.h>
void f(long *);
void g(void) {}
int main(void) { long at[] = {0, 5}; f(at); printf("%ld\\n", at[0]); }
"""


def llc(module: Path, *options: str, output: Path) -> str:
    """The remarks of llc while it makes an object."""
    command = [str(toolchain.tool("llc")), f"-load={toolchain.plugin()}", "-O2", "-filetype=obj", *options, str(module), "-o", str(output)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stderr


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("module") / "program.bc"
    compile_(corpora.embedded(f"embedded/{SAMPLE[0]}")[0], "-O2", "-g", "-c", "-emit-llvm", output=path)
    return path


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("decider", DECIDERS)
def test_embedded_program_prints_the_same(decider: str, splits: int, level: str, tmp_path: Path) -> None:
    assert printed(SAMPLE[0], allocator(decider, splits), level, tmp_path) == OUTPUTS[SAMPLE[0]]


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("decider", DECIDERS)
@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_every_embedded_program_prints_the_same(name: str, decider: str, splits: int, level: str, tmp_path: Path) -> None:
    assert printed(name, allocator(decider, splits), level, tmp_path) == OUTPUTS[name]


def printed(name: str, options: list[str], level: str, folder: Path) -> str:
    compile_(corpora.embedded(f"embedded/{name}")[0], level, *clang_flags(options), "-lm", output=folder / "program")
    return run(folder / "program")


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("index", range(200))
def test_csmith_program_prints_the_same(index: int, level: str, tmp_path: Path) -> None:
    source, expected = csmith(index, tmp_path)
    for decider, splits in product(("first", "last", f"random:{index}"), SPLITS):
        compile_(source, level, *CSMITH_FLAGS, *clang_flags(allocator(decider, splits)), output=tmp_path / "program")
        assert run(tmp_path / "program") == expected, (decider, splits)


@pytest.mark.parametrize("decider", DECIDERS)
def test_exceptions_are_caught_in_a_program_with_debug_info(decider: str, tmp_path: Path) -> None:
    source = tmp_path / "throws.cpp"
    source.write_text(THROWS)
    compile_(source, "-O2", "-g", *clang_flags(allocator(decider, 2)), "-lstdc++", output=tmp_path / "program")
    assert run(tmp_path / "program") == "1246\n"


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))])
def test_handlers_and_destructors_read_what_was_there_at_the_call(seed: int, tmp_path: Path) -> None:
    source = tmp_path / "throwing.cpp"
    source.write_text(throwing(seed))
    compile_(source, "-O2", "-lstdc++", output=tmp_path / "stock")
    for decider in ("heuristic", "last", f"random:{seed}"):
        compile_(source, "-O2", *clang_flags(allocator(decider, 8)), "-lstdc++", output=tmp_path / "program")
        assert run(tmp_path / "program") == run(tmp_path / "stock"), decider


@pytest.mark.parametrize("decider", ["random:1", "random:2"])
@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "riscv64-linux-gnu"])
def test_other_targets_pass_the_verifier(target: str, decider: str, tmp_path: Path) -> None:
    source = tmp_path / "loops.c"
    source.write_text(LOOPS)
    compile_(source, f"--target={target}", "-O2", "-c", *clang_flags(allocator(decider, 2)), output=tmp_path / "loops.o")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OUTPUTS))
@pytest.mark.parametrize("target", TARGETS)
def test_program_for_another_target_prints_the_same(target: str, name: str, tmp_path: Path) -> None:
    (source,) = corpora.embedded(f"embedded/{name}")
    for decider, splits in product(("heuristic", "random:1", "random:2"), SPLITS):
        flags = [f"--target={target}", "-O2", "-fuse-ld=lld", "-static", *clang_flags(allocator(decider, splits))]
        compile_(source, *flags, "-lm", output=tmp_path / "program")
        printed = subprocess.run([TARGETS[target], tmp_path / "program"], check=True, capture_output=True, text=True, timeout=300).stdout
        assert printed == OUTPUTS[name], (decider, splits)


def test_block_of_a_jump_alone_takes_a_value_over_before_it_hands_it_on(tmp_path: Path) -> None:
    (tmp_path / "f.mir").write_text(ONLY_A_JUMP)
    (tmp_path / "main.c").write_text(CALLS_F)
    llc(tmp_path / "f.mir", *allocator("last", splits=1), "-start-after=machine-scheduler", output=tmp_path / "f.o")
    compile_(tmp_path / "main.c", str(tmp_path / "f.o"), output=tmp_path / "program")
    assert run(tmp_path / "program") == f"{3 * 2**10 * 31**5}\n"


def test_function_too_large_is_greedys_to_the_byte(module: Path, tmp_path: Path) -> None:
    said = llc(module, *allocator(max_ranges=0), "-pass-remarks=mlcb", output=tmp_path / "ours.o")
    llc(module, output=tmp_path / "greedys.o")
    assert "left to greedy" in said
    assert "allocated" not in said
    assert (tmp_path / "ours.o").read_bytes() == (tmp_path / "greedys.o").read_bytes()


def section(binary: Path, name: str) -> bytes:
    dumped = binary.with_suffix(name)
    subprocess.run([toolchain.tool("llvm-objcopy"), f"--dump-section={name}={dumped}", binary, "/dev/null"], check=True)
    return dumped.read_bytes()


def test_function_too_large_is_greedys_beside_one_that_is_ours(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(f"{LOOPS} {at_once('large', 200)}")
    compile_(tmp_path / "program.c", "-O2", "-c", "-emit-llvm", output=tmp_path / "program.bc")
    ours, greedys = tmp_path / "ours.o", tmp_path / "greedys.o"
    said = llc(tmp_path / "program.bc", *allocator("last", 4, max_ranges=150), "-pass-remarks=mlcb", "-function-sections", output=ours)
    llc(tmp_path / "program.bc", "-function-sections", output=greedys)
    assert said.count("left to greedy: ") == said.count(": allocated ") == 1
    assert section(ours, ".text.large") == section(greedys, ".text.large")
    assert section(ours, ".text.loops") != section(greedys, ".text.loops")


def test_function_is_not_split_without_end(tmp_path: Path) -> None:
    (tmp_path / "loops.c").write_text(LOOPS)
    compile_(tmp_path / "loops.c", "-O2", "-c", "-emit-llvm", output=tmp_path / "loops.bc")
    most = 40
    said = llc(tmp_path / "loops.bc", *allocator("last", 16, max_ranges=most), "-pass-remarks=mlcb", output=tmp_path / "loops.o")
    (splits,) = map(int, re.findall(r"(\d+) splits,", said))
    assert splits == most


@pytest.mark.parametrize("decider", DECIDERS)
def test_inline_assembly_with_too_many_operands_is_refused_as_by_greedy(decider: str, tmp_path: Path) -> None:
    operands = ", ".join(f'"r"(p[{i}])' for i in range(20))
    (tmp_path / "program.c").write_text(f'void f(volatile long *p) {{ __asm__ volatile("" :: {operands}); }}')
    ends = set()
    for options in ([], clang_flags(allocator(decider, 4))):
        command: list[str | Path] = [toolchain.tool("clang"), "-O2", "-c", *options, tmp_path / "program.c", "-o", tmp_path / "program.o"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        ends.add((done.returncode, done.stderr.splitlines()[0], (tmp_path / "program.o").exists()))
    ((status, error, is_written),) = ends
    assert (status, is_written) == (1, False)
    assert error.endswith("error: inline assembly requires more registers than available")


def test_tiles_that_llvm_would_not_configure_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tiles.c").write_text(TILES)
    compile_(tmp_path / "tiles.c", "-O2", "-mamx-int8", "-c", "-emit-llvm", output=tmp_path / "tiles.bc")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        llc(tmp_path / "tiles.bc", *allocator(), output=tmp_path / "tiles.o")
    assert "'f' has tile registers, which LLVM configures only without -regalloc" in refused.value.stderr


def test_illegal_answers_are_counted_and_the_heuristics_stand(module: Path, tmp_path: Path) -> None:
    said = llc(module, *allocator("illegal"), "-pass-remarks=mlcb", output=tmp_path / "illegal.o")
    llc(module, *allocator("heuristic"), output=tmp_path / "heuristic.o")
    assert " 0 illegal answers" not in said
    assert (tmp_path / "illegal.o").read_bytes() == (tmp_path / "heuristic.o").read_bytes()


def test_live_range_makes_way_for_a_dearer_one(tmp_path: Path) -> None:
    (source,) = corpora.embedded("embedded/train/dijkstra")
    command: list[str | Path] = [
        toolchain.tool("clang"),
        "-O2",
        *clang_flags(allocator(splits=8)),
        "-Rpass=mlcb",
        "-c",
        source,
        "-o",
        tmp_path / "program.o",
    ]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stderr
    assert sum(map(int, re.findall(r"(\d+) evictions", said))) == 2


def test_live_range_of_inline_assembly_is_not_split_and_counted(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(ASSEMBLY)
    compile_(tmp_path / "program.c", "-O2", "-c", "-emit-llvm", output=tmp_path / "program.bc")
    said = llc(tmp_path / "program.bc", *allocator("heuristic", splits=8), "-pass-remarks=mlcb", output=tmp_path / "program.o")
    (refused,) = re.findall(r"(\d+) splits refused", said)
    assert int(refused) > 0


@pytest.mark.parametrize("decider", ["heuristic", *(f"random:{seed}" for seed in range(16))])
def test_part_that_a_spill_has_left_is_not_spilled_again(decider: str, tmp_path: Path) -> None:
    (tmp_path / "patched.ll").write_text(PATCHED)
    only_allocated = ("-stop-after=virtregrewriter", "-pass-remarks=mlcb")  # stock cannot print such code
    said = llc(tmp_path / "patched.ll", *allocator(decider, 2), *only_allocated, output=tmp_path / "patched.mir")
    splits, spills = map(int, re.findall(r"(\d+) splits?, (\d+) spills", said)[0])
    assert spills <= splits + 1


def at_once(name: str, values: int) -> str:
    """A function in which so many values are alive at once."""
    loads = "".join(f"int a{i} = p[{i}]; " for i in range(values))
    stores = "".join(f"p[{i}] = a{i * 7 % values}; " for i in range(values))
    return f"void {name}(volatile int *p) {{ {loads} {stores} }}"


@pytest.mark.parametrize("decider", ["heuristic", "policy"])
def test_many_live_ranges_at_once_are_allocated_in_time(decider: str, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(at_once("f", AT_ONCE))
    compile_(tmp_path / "program.c", "-O2", "-c", "-emit-llvm", output=tmp_path / "program.bc")
    asking = [f"-mlcb-runner=onnx:{shipped()['rl4real']}"] if decider == "policy" else []
    llc(tmp_path / "program.bc", *allocator(), *asking, output=tmp_path / "program.o")


@pytest.mark.parametrize("decider", DECIDERS)
def test_register_that_is_only_read_undefined_is_allocated(decider: str, tmp_path: Path) -> None:
    """The upper half of a conversion's result: a live range without a segment."""
    (tmp_path / "f.ll").write_text("""
        define double @f(i64 %a, i64 %b) "target-features"="+avx" {
          %x = sitofp i64 %a to double
          %y = sitofp i64 %b to double
          %z = fmul double %x, %y
          ret double %z
        }""")
    said = llc(tmp_path / "f.ll", *allocator(decider), "-mtriple=x86_64-linux-gnu", "-pass-remarks=mlcb", output=tmp_path / "f.o")
    assert ": allocated " in said


def test_function_with_too_many_ways_for_an_optimum_is_greedys(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(f"{at_once('large', 100)} {at_once('small', 3)}")
    compile_(tmp_path / "program.c", "-O2", "-c", "-emit-llvm", output=tmp_path / "program.bc")
    ours, greedys = tmp_path / "ours.o", tmp_path / "greedys.o"
    said = llc(tmp_path / "program.bc", *allocator("optimum"), "-pass-remarks=mlcb", "-function-sections", output=ours)
    llc(tmp_path / "program.bc", "-function-sections", output=greedys)
    assert said.count("left to greedy: too large for an optimum") == said.count(": allocated ") == 1
    assert section(ours, ".text.large") == section(greedys, ".text.large")


def test_unknown_decider_is_refused(module: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        llc(module, *allocator("never"), output=tmp_path / "object.o")
    assert "-mlcb-regalloc-decider=never: expected heuristic, optimum, first, last or random:SEED" in refused.value.stderr


def test_more_splits_than_a_policy_may_have_are_refused(module: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        llc(module, *allocator(splits=17), output=tmp_path / "object.o")
    assert "-mlcb-regalloc-splits=17: expected at most 16" in refused.value.stderr
