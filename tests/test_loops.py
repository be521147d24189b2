# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops are split as somebody says, and the program stays right: kernels of known sums, drawn ones, and whole programs."""

import re
import resource
import subprocess
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.loops.composer import compose
from mlcb_gym.corpus.loops.generator import generate
from mlcb_gym.corpus.loops.kernels import Kernel, kernels, source
from tests.support.known_output import CSMITH_FLAGS, OUTPUTS, SAMPLE, compile_, csmith, run
from tests.support.loops import SPLIT, STRICT, remarks, splitting, sums

SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
SCALAR = ("-O3", "-fno-vectorize", "-fno-slp-vectorize")
BUILDS = {"O1": ("-O1",), "O3": ("-O3",), "scalar": SCALAR, "sanitized": SANITIZED}
EVERY_BUILD = pytest.mark.parametrize("build", BUILDS)
MASKS = range(64)  # no kernel has more than seven nodes
REFUSED = re.compile(r"loop not distributed: (.*) \[")


def compiled(path: Path, *flags: str) -> bytes:
    return subprocess.run([toolchain.tool("clang"), "-w", "-c", *flags, path, "-o", "-"], check=True, capture_output=True).stdout


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return sums(tmp_path_factory.mktemp("kernels"), source(kernels()), "-O0")


def test_kernels_are_as_many_as_promised_in_every_category_and_split() -> None:
    counts = {(kernel.category, kernel.split) for kernel in kernels()}
    assert len(kernels()) == len({kernel.name for kernel in kernels()}) >= 60
    assert len(counts) == 3 * len({kernel.category for kernel in kernels()}) == 24


def test_kernels_are_clean(tmp_path: Path, expected: list[str]) -> None:
    assert sums(tmp_path, source(kernels()), *SANITIZED) == expected


def test_kernel_is_timed_on_request(tmp_path: Path) -> None:
    (line,) = sums(tmp_path, source(kernels()[:1]), "-O3")
    timed = subprocess.run([tmp_path / "kernels", "3"], check=True, capture_output=True, text=True).stdout
    assert timed.startswith(line)
    assert 0 < float(timed.split()[2]) < 1


@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.name)
def test_every_kernel_can_be_split(kernel: Kernel, tmp_path: Path) -> None:
    text = source([kernel])
    first = text[: text.index(kernel.definition)].count("\n")
    lines = range(first, first + kernel.definition.count("\n") + 1)
    split = [int(line) for line in re.findall(r"loops.c:(\d+):\d+: remark: loop of", remarks(tmp_path, text, *splitting("always")))]
    assert any(line in lines for line in split)


@EVERY_BUILD
@pytest.mark.parametrize("answer", ["always", "cuts=2", "random=1"])
def test_split_kernels_print_the_same(answer: str, build: str, tmp_path: Path, expected: list[str]) -> None:
    assert sums(tmp_path, source(kernels()), *BUILDS[build], *splitting(answer)) == expected


@pytest.mark.slow
@EVERY_BUILD
@pytest.mark.parametrize("answer", [*(f"cuts={mask}" for mask in MASKS), *(f"random={seed}" for seed in range(32))])
def test_kernels_print_the_same_whatever_is_cut(answer: str, build: str, tmp_path: Path, expected: list[str]) -> None:
    assert sums(tmp_path, source(kernels()), *BUILDS[build], *splitting(answer)) == expected


def test_many_loops_of_a_function_take_little_time(tmp_path: Path) -> None:
    """Linear in their number: a small part of what -O3 takes, of which it took five times."""
    loop = "  for (int i = 1; i < n; ++i) { a[i] = a[i - 1] * c[i]; b[i] = c[i] * 3.0f; }\n"
    (tmp_path / "loops.c").write_text(f"void f(float *restrict a, float *restrict b, const float *restrict c, int n) {{\n{350 * loop}}}\n")
    (tmp_path / "loops.bc").write_bytes(compiled(tmp_path / "loops.c", "-O1", "-emit-llvm", "-fno-unroll-loops"))
    split, stock = (
        min(
            cpu_seconds(toolchain.tool("opt"), f"-load-pass-plugin={toolchain.plugin()}", f"-passes={passes}", tmp_path / "loops.bc")
            for _ in range(3)
        )
        for passes in ("mlcb-loop-distribute<always>", "default<O3>")
    )
    assert split < stock / 2


LOOP = """
define void @f(ptr noalias %a, ptr noalias %b, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %row = mul nsw i64 %i, 4000
{stores}
  %next = add nsw i64 %i, 1
  %again = icmp slt i64 %next, %n
  br i1 %again, label %loop, label %exit
exit:
  ret void
}}
"""
STORE = """
  %place{index} = add nsw i64 %row, {index}
  %from{index} = getelementptr inbounds i32, ptr %b, i64 %place{index}
  %read{index} = load i32, ptr %from{index}
  %to{index} = getelementptr inbounds i32, ptr %a, i64 %place{index}
  store i32 %read{index}, ptr %to{index}
"""


def test_loop_of_more_statements_than_are_split_takes_little_time(tmp_path: Path) -> None:
    """4000 stores took a hundred times as long as all else."""
    stores = "".join(STORE.format(index=index) for index in range(4000))
    (tmp_path / "stores.ll").write_text(LOOP.format(stores=stores))
    split = (f"-load-pass-plugin={toolchain.plugin()}", "-passes=mlcb-loop-distribute<always>")
    assert cpu_seconds(toolchain.tool("opt"), *split, tmp_path / "stores.ll") < 1


def cpu_seconds(*command: object) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([str(part) for part in (*command, "-o", "/dev/null")], check=True, timeout=60)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@pytest.mark.parametrize("first", [0])
def test_drawn_kernels_print_the_same(first: int, tmp_path: Path) -> None:
    assert_drawn_kernels_print_the_same(first, tmp_path)


def test_composed_kernels_print_the_same_and_can_be_split(tmp_path: Path) -> None:
    text = source(compose(seed) for seed in range(100))
    plain = sums(tmp_path, text, *SANITIZED)
    assert sums(tmp_path, text, "-O3", *splitting("always")) == plain
    assert len(SPLIT.findall(remarks(tmp_path, text, *splitting("always")))) >= 90


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 5000, 100))
def test_many_drawn_kernels_print_the_same(first: int, tmp_path: Path) -> None:
    assert_drawn_kernels_print_the_same(first, tmp_path)


def assert_drawn_kernels_print_the_same(first: int, folder: Path) -> None:
    text = source(generate(seed) for seed in range(first, first + 100))
    plain = sums(folder, text, *SANITIZED)
    assert sums(folder, text, "-O3", *splitting("always")) == plain
    assert sums(folder, text, *SCALAR, *splitting(f"random={first}")) == plain


@pytest.mark.parametrize("name", SAMPLE)
def test_embedded_program_prints_the_same(name: str, tmp_path: Path) -> None:
    assert_embedded_program_prints_the_same(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(OUTPUTS) - set(SAMPLE)))
def test_every_embedded_program_prints_the_same(name: str, tmp_path: Path) -> None:
    assert_embedded_program_prints_the_same(name, tmp_path)


def assert_embedded_program_prints_the_same(name: str, folder: Path) -> None:
    (program,) = corpora.embedded(f"embedded/{name}")
    for answer in ("always", "random=1", "random=2"):
        compile_(program, "-O3", *splitting(answer), output=folder / "program")
        assert run(folder / "program") == OUTPUTS[name], answer


@pytest.mark.slow
@pytest.mark.parametrize("index", range(100))
def test_csmith_program_prints_the_same(index: int, tmp_path: Path) -> None:
    program, output = csmith(index, tmp_path)
    for answer in ("always", "random=1"):
        compile_(program, "-O3", *CSMITH_FLAGS, *splitting(answer), output=tmp_path / "program")
        assert run(tmp_path / "program") == output, answer


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3", "-Oz"])
@pytest.mark.parametrize("name", SAMPLE)
def test_never_split_is_what_clang_makes_of_it(name: str, level: str) -> None:
    (program,) = corpora.embedded(f"embedded/{name}")
    assert compiled(program, level, *splitting("never")) == compiled(program, level)


@pytest.mark.parametrize("level", ["-O1", "-O3"])
def test_kernels_that_are_never_split_are_what_clang_makes_of_them(level: str, tmp_path: Path) -> None:
    (tmp_path / "kernels.c").write_text(source(kernels()))
    assert compiled(tmp_path / "kernels.c", level, *splitting("never")) == compiled(tmp_path / "kernels.c", level)


@pytest.mark.parametrize("answer", ["always", "random=3"])
def test_what_is_left_passes_every_check_of_llvm(answer: str, tmp_path: Path) -> None:
    module = tmp_path / "kernels.bc"
    text = source([*kernels(), *(generate(seed) for seed in range(100))])
    (tmp_path / "kernels.c").write_text(text)
    compile_(tmp_path / "kernels.c", *STRICT, "-O1", "-c", "-emit-llvm", output=module)
    checks = "verify,verify<loops>,verify<domtree>,verify<scalar-evolution>"
    passes = f"function(require<scalar-evolution>,mlcb-loop-distribute<{answer}>,{checks})"
    command: list[str | Path] = [
        toolchain.tool("opt"),
        "-load-pass-plugin",
        toolchain.plugin(),
        f"-passes={passes}",
        "-verify-loop-lcssa",
        module,
        "-o",
        "/dev/null",
    ]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stderr == ""


REFUSALS = {
    "several": "void f(int *p, int *q, int n) { for (int i = 0; i < n; i++) { if (p[i] == 7) break; q[i] = 1; } }",
    "volatile": "void f(volatile int *p, int *q, int n) { for (int i = 0; i < n; i++) { p[i] = 1; q[i] = 2; } }",
    "call": "void g(void); void f(int *p, int *q, int n) { for (int i = 0; i < n; i++) { p[i] = 1; g(); q[i] = 2; } }",
    "one": "void f(int *p, int *q, int n) { for (int i = 0; i < n; i++) p[i] = q[i]; }",
    "cycle": "extern int a[], b[]; void f(int n) { for (int i = 0; i < n; i++) { a[i + 3] = b[i] + 1; b[i + 3] = a[i] * 3; } }",
}
REASONS = {
    "several": "it is left from elsewhere than its latch",
    "volatile": "it accesses memory by volatile or atomic operations",
    "call": "it calls or does something with effects beyond loads and stores",
    "one": "it has but one statement",
    "cycle": "its statements depend on each other in a cycle",
}


@pytest.mark.parametrize("name", REFUSALS)
def test_loop_that_is_left_alone_is_reported_with_the_reason(name: str, tmp_path: Path) -> None:
    assert REFUSED.findall(remarks(tmp_path, REFUSALS[name], *splitting("always"))) == [REASONS[name]]


def test_call_without_effects_does_not_prevent_a_split(tmp_path: Path) -> None:
    pure = "int g(int) __attribute__((const)); extern int a[], b[];\n"
    said = remarks(tmp_path, pure + "void f(int n) { for (int i = 0; i < n; i++) { a[i] = g(i); b[i] = 2; } }", *splitting("always"))
    assert SPLIT.findall(said) == [("2", "2", "0")]


DIVISION = """
static void f(int *a, int *b, int *c, int *x, unsigned long n, unsigned long m, int k) {
  for (int i = 0; i < k; i++) {
    a[i] = x[i];
    if (c[i])
      b[n / m + i] = 1;
  }
}
int a[64], b[64], c[64], x[64];
volatile unsigned long zero;
int main(void) {
  void (*volatile g)(int *, int *, int *, int *, unsigned long, unsigned long, int) = f;
  g(a, b, c, x, 1, zero, 64);
  return b[0];
}
"""


@pytest.mark.parametrize("flags", [("-O1",), SCALAR], ids=["O1", "scalar"])
def test_check_computes_nothing_that_the_program_does_not(flags: tuple[str, ...], tmp_path: Path) -> None:
    """The vectorizer of LLVM 22 does: its own checks divide by zero here."""
    (tmp_path / "division.c").write_text(DIVISION)
    compile_(tmp_path / "division.c", *flags, *splitting("always"), output=tmp_path / "division")
    subprocess.run([tmp_path / "division"], check=True, timeout=10)


ENDLESS = """
#include <stdio.h>
#include <stdlib.h>
enum { N = 3 << 20 };
int z[N], y[N], w[N];
__attribute__((noinline)) void end(void) {
  unsigned long sum = 0;
  for (int i = 0; i < N; i++)
    sum = sum * 31 + (unsigned)z[i];
  printf("%lu\\n", sum);
  exit(0);
}
void (*volatile ending)(void) = end;
__attribute__((noinline)) void forever(int *x, int *all, const int *some, const int *from, long n, long k) {
  for (;;) {
    for (long i = 0; i < n; i++) {
      if (some[i] > 0)
        x[k - i] = some[i] * 2;
      all[i] = from[i] + 1;
    }
    ending();
  }
}
int main(void) {
  for (int i = 0; i < N; i++)
    y[i] = i <= 1000 ? i + 1 : 0, w[i] = i;
  forever(z, z, y, w, N, 1000);
}
"""


def test_what_runs_in_every_iteration_is_known_where_the_function_never_returns(tmp_path: Path) -> None:
    """The range of the store that is guarded begins below address 0; it was taken for one that always runs, as LLVM's post-dominators say there."""
    (tmp_path / "endless.c").write_text(ENDLESS)
    for name, flags in {"stock": (), "split": splitting("always")}.items():
        compile_(tmp_path / "endless.c", "-O3", "-fno-pie", "-no-pie", *flags, output=tmp_path / name)
    assert run(tmp_path / "split") == run(tmp_path / "stock")


def test_no_more_is_checked_than_the_split_needs(tmp_path: Path) -> None:
    loop = "void f(int *p, int *q, int n) { for (int i = 0; i < n; i++) { p[i] = i; q[i] = 2 * i; } }"
    assert SPLIT.findall(remarks(tmp_path, loop, *splitting("always"))) == [("2", "2", "1")]
    assert SPLIT.findall(remarks(tmp_path, loop, *splitting("never"))) == [("2", "1", "0")]


def test_nothing_is_checked_where_size_counts(tmp_path: Path) -> None:
    loop = "void f(int *p, int *q, int n) { for (int i = 0; i < n; i++) { p[i] = i; q[i] = 2 * i; } }"
    assert REFUSED.findall(remarks(tmp_path, loop, "-Os", *splitting("always"))) == [REASONS["cycle"]]


@pytest.mark.parametrize("answer", ["", "sometimes", "cuts=", "cuts=x", "random=-1"])
def test_answer_that_means_nothing_is_named(answer: str, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        remarks(tmp_path, REFUSALS["one"], *splitting(answer))
    assert f"'{answer}', expected never, always, cuts=MASK or random=SEED" in caught.value.stderr
