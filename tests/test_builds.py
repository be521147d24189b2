# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever flags a build has, with policies it does what stock does: the same files, profiles and program output."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus.corpora import embedded
from mlcb_gym.corpus.loops import kernels
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.onnx.manifest import read_manifest
from mlcb_gym.policies import shipped
from tests.support.builds import COROUTINE, clang, run

CLANG, OPT, PROFDATA, COV, OBJCOPY = (toolchain.tool(name) for name in ("clang", "opt", "llvm-profdata", "llvm-cov", "llvm-objcopy"))
CONFIGURATIONS = {"posetrl": False, "function_posetrl": False, "inliner": False, "posetrl guarded": True}
C = """
#include <stdio.h>
static int step(int x) { return x & 1 ? 3 * x + 1 : x / 2; }
static int length(int x) { int n = 0; while (x != 1) { x = step(x); ++n; } return n; }
int main(int argc, char **argv) {
  long sum = 0;
  for (int i = 1; i < 2000 * argc; ++i) sum += length(i);
  printf("%ld\\n", sum);
  return 0;
}
"""
SHOW = r"""
#include <stdio.h>
#include <stdlib.h>
int show(int n, int of, char **words) {
  for (int i = 0; i < n; i++) printf("%s %d of %d\n", words[i], i, of);
  return abs(n - of);
}
int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < argc; i++) sum += show(i, argc, argv);
  puts("sum");
  printf("%d\n", sum);
  return 0;
}
"""
"""Here every policy of these tests makes code smaller, so that the guard keeps it."""
LEVELS = {"eviction": "-O2", "priority": "-O2", "rl4real": "-O2", "loop_distribution": "-O3"}
"""Those that policies were taught at; -Oz for others."""
OUTPUT = "133988\n"
ASSEMBLER = ".globl answer\nanswer: ret\n"


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def config(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("config") / "mlcb.cfg"
    write_clang_config(path, [shipped()[request.param.split()[0]]], guard=CONFIGURATIONS[request.param])
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "collatz.c").write_text(C)
    return tmp_path / "collatz.c"


@pytest.mark.parametrize("name", ["plain.s", "preprocessed.S", "named.x"])
def test_assembler_is_assembled(config: Path, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(ASSEMBLER)
    language = ["-x", "assembler-with-cpp"] if name.endswith(".x") else []
    for which, output in ((config, "own.o"), (None, "stock.o")):
        clang(which, tmp_path, "-c", *language, name, "-o", output)
    assert (tmp_path / "own.o").read_bytes() == (tmp_path / "stock.o").read_bytes()


@pytest.mark.parametrize("option", ["-save-temps", "-fembed-bitcode", "-no-integrated-as"])
def test_steps_of_their_own_give_the_same_program(config: Path, option: str, source: Path) -> None:
    if option == "-no-integrated-as" and shutil.which("as") is None:
        pytest.skip("no assembler but clang's own")
    clang(config, source.parent, "-Oz", option, source.name, "-o", "program")
    assert run(["./program"], source.parent).stdout == OUTPUT


def test_configuration_twice_is_as_once(config: Path, source: Path) -> None:
    once, twice = source.parent / "once.o", source.parent / "twice.o"
    clang(config, source.parent, "-Oz", "-c", source.name, "-o", once)
    clang(config, source.parent, f"--config={config}", "-Oz", "-c", source.name, "-o", twice)
    assert once.read_bytes() == twice.read_bytes()


def test_configurations_of_two_policies_are_as_one_of_both(source: Path) -> None:
    folder = source.parent
    for name, policies in {"first": ["posetrl"], "second": ["function_size"], "both": ["posetrl", "function_size"]}.items():
        write_clang_config(folder / f"{name}.cfg", [shipped()[policy] for policy in policies])
    clang(folder / "first.cfg", folder, f"--config={folder}/second.cfg", "-Oz", "-c", source.name, "-o", "two.o")
    clang(folder / "both.cfg", folder, "-Oz", "-c", source.name, "-o", "one.o")
    assert (folder / "two.o").read_bytes() == (folder / "one.o").read_bytes()


def test_two_copies_of_the_plugin_are_one_line(source: Path) -> None:
    folder = source.parent
    for name in ("posetrl", "function_size"):
        write_clang_config(folder / name / "mlcb.cfg", [shipped()[name]], bundle=True)
    configs = [f"--config={folder}/{name}/mlcb.cfg" for name in ("posetrl", "function_size")]
    done = subprocess.run([CLANG, *configs, "-Oz", "-c", source.name], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"mlcb: .*/libmlcb_llvm.so is a second copy of the plugin: expected one configuration, .*\n", done.stderr)
    assert not (folder / "collatz.o").exists()


@pytest.mark.parametrize("level", ["-O0", "-O1", "-Oz", "-O3"])
def test_coroutines_are_split(config: Path, level: str, tmp_path: Path) -> None:
    (tmp_path / "squares.cpp").write_text(COROUTINE)
    clang(config, tmp_path, level, "-std=c++20", "-w", "squares.cpp", "-o", "squares", driver="clang++")
    assert run(["./squares"], tmp_path).stdout == "0 1 4 9 16 "


@pytest.mark.parametrize("made", ["-fprofile-generate", "-fprofile-instr-generate"])
def test_profile_is_that_of_stock(config: Path, made: str, source: Path) -> None:
    counts = []
    for which, name in ((config, "own"), (None, "stock")):
        clang(which, source.parent, "-O2", made, source.name, "-o", name)
        profiled = subprocess.run(
            [f"./{name}"], cwd=source.parent, env={"LLVM_PROFILE_FILE": f"{name}.profraw"}, capture_output=True, text=True, timeout=60
        )
        assert profiled.stdout == OUTPUT
        run([PROFDATA, "merge", f"{name}.profraw", "-o", f"{name}.profdata"], source.parent)
        counts.append(run([PROFDATA, "show", "--all-functions", "--counts", f"{name}.profdata"], source.parent).stdout)
    assert counts[0] == counts[1]
    assert "main" in counts[0]


def test_profile_of_stock_is_used(config: Path, source: Path) -> None:
    clang(None, source.parent, "-O2", "-fprofile-generate", source.name, "-o", "stock")
    subprocess.run(["./stock"], cwd=source.parent, env={"LLVM_PROFILE_FILE": "stock.profraw"}, check=True, capture_output=True, timeout=60)
    run([PROFDATA, "merge", "stock.profraw", "-o", "stock.profdata"], source.parent)
    used = clang(
        config,
        source.parent,
        "-O2",
        "-fprofile-use=stock.profdata",
        "-Werror",
        "-Wno-backend-plugin",
        "-emit-llvm",
        "-S",
        source.name,
        "-o",
        "used.ll",
    )
    assert used.stderr == ""
    assert '!"function_entry_count"' in (source.parent / "used.ll").read_text()


def test_samples_are_used(config: Path, source: Path) -> None:
    (source.parent / "samples").write_text("main:1000:0\n 4: 500\nlength:4000:10\n 0: 4000\n")
    counted = []
    for which, name in ((config, "own.ll"), (None, "stock.ll")):
        clang(which, source.parent, "-O2", "-gline-tables-only", "-fprofile-sample-use=samples", "-emit-llvm", "-S", source.name, "-o", name)
        counted.append(re.findall(r'!"function_entry_count", i64 \d+', (source.parent / name).read_text()))
    assert counted[0] == counted[1] != []


def test_coverage_counts_what_stock_counts(config: Path, source: Path) -> None:
    reports = []
    for which, name in ((config, "own"), (None, "stock")):
        folder = source.parent / name
        folder.mkdir()
        clang(which, folder, "-Oz", "--coverage", "../collatz.c", "-o", "program")
        assert run(["./program"], folder).stdout == OUTPUT
        reports.append(run([COV, "gcov", "-t", *(path.name for path in folder.glob("*.gcda"))], folder).stdout)
    assert reports[0] == reports[1]
    assert "return n" in reports[0]


def test_entries_of_inlined_functions_are_instrumented(config: Path, source: Path) -> None:
    entered = []
    for which, name in ((config, "own.ll"), (None, "stock.ll")):
        clang(which, source.parent, "-O1", "-finstrument-functions", "-emit-llvm", "-S", source.name, "-o", name)
        entered.append(set(re.findall(r"@__cyg_profile_func_enter\(ptr (?:nonnull )?@(\w+)", (source.parent / name).read_text())))
    assert entered[0] == entered[1] == {"step", "length", "main"}


@pytest.mark.parametrize("sanitizer", ["address", "undefined", "thread"])
def test_sanitizers_find_what_they_find(config: Path, sanitizer: str, source: Path) -> None:
    clang(config, source.parent, "-Oz", f"-fsanitize={sanitizer}", source.name, "-o", "program")
    assert run(["./program"], source.parent).stdout == OUTPUT


def test_tables_of_position_independent_code_are_relative(config: Path, tmp_path: Path) -> None:
    """An address in a table costs a shared object a relocation of 24 bytes."""
    words = "".join(f'    case {index}: return "word {index}";\n' for index in range(12))
    (tmp_path / "words.c").write_text(f"const char *word(int n) {{\n  switch (n) {{\n{words}  default: return 0;\n  }}\n}}\n")
    clang(config, tmp_path, "-Oz", "-fPIC", "-c", "words.c", "-o", "words.o")
    assert "R_X86_64_64" not in run([toolchain.tool("llvm-readelf"), "-r", "words.o"], tmp_path).stdout


BOUNDS = "void fill(int *); int at(int i) { int a[4]; fill(a); return a[i]; }"


def test_local_bounds_are_checked(config: Path, tmp_path: Path) -> None:
    (tmp_path / "bounds.c").write_text(BOUNDS)
    clang(config, tmp_path, "-Oz", "-fsanitize=local-bounds", "-S", "bounds.c", "-o", "bounds.s")
    assert (tmp_path / "bounds.s").read_text().count("ud1") == 1


REFUSED = """
extern void never(void) __attribute__((error("called")));
static inline __attribute__((always_inline)) int order(unsigned long n) {
  if (!__builtin_constant_p(n)) return -1;
  int bits = 0;
  for (n--; n >>= 1;) bits++;
  if (bits > 60) never();
  return bits;
}
int of_a_page(void) { return order(4096); }
"""

WARNED = """
extern void never(void) __attribute__((warning("called")));
int sum(void) {
  int a[4] = {1, 2, 3, 4}, s = 0;
  for (int i = 0; i < 4; i++) s += a[i];
  if (s != 10) never();
  return s;
}
"""

IMMEDIATE = """
int add(int x) {
  int r, n = 0;
  for (int i = 0; i < 3; i++) n += 2;
  __asm__("addl %2, %0" : "=r"(r) : "0"(x), "i"(n));
  return r;
}
"""


@pytest.mark.parametrize("text", [REFUSED, WARNED, IMMEDIATE], ids=["error", "warning", "immediate"])
@pytest.mark.parametrize("level", ["-O1", "-O2", "-Oz"])
def test_what_stock_proves_is_no_error(config: Path, text: str, level: str, tmp_path: Path) -> None:
    (tmp_path / "proved.c").write_text(text)
    clang(config, tmp_path, level, "-Werror", "-c", "proved.c", "-o", "proved.o")


@pytest.mark.parametrize("task", ["function_size", "function_posetrl"])
def test_candidates_are_compared_where_objects_are_not_elf(task: str, tmp_path: Path) -> None:
    (tmp_path / "bounds.c").write_text(BOUNDS)
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()[task]], candidates=2)
    said = clang(config, tmp_path, "--target=x86_64-w64-mingw32", "-Oz", "-Rpass=mlcb", "-c", "bounds.c", "-o", "bounds.o").stderr
    assert re.search(r"candidate 1: \d+ bytes, .*; kept: ", said)
    assert "failed" not in said


def test_options_of_the_user_stand(config: Path, source: Path) -> None:
    options = ("-inline-threshold=100", "-simplifycfg-merge-cond-stores=0")  # which actions set, too
    clang(config, source.parent, "-Oz", *(word for option in options for word in ("-mllvm", option)), source.name, "-o", "program")
    assert run(["./program"], source.parent).stdout == OUTPUT


SUMS = "".join(f"a[{i}] = b[{i}] + c[{i}];" for i in range(6))


def test_what_is_not_to_be_vectorized_is_not(config: Path, tmp_path: Path) -> None:
    (tmp_path / "sums.c").write_text(f"void sums(long *restrict a, const long *restrict b, const long *restrict c) {{ {SUMS} }}")
    vectors = []
    for name, flags in {"off.s": ["-fno-slp-vectorize", "-fno-vectorize"], "on.s": []}.items():
        clang(config, tmp_path, "-Oz", *flags, "-S", "sums.c", "-o", name)
        vectors.append("%xmm" in (tmp_path / name).read_text())
    assert vectors == [False, True]


def test_read_only_data_that_moves_holds_no_address(config: Path, tmp_path: Path) -> None:
    """By -fropi no relocation is made when the program is loaded: a table of addresses would be wrong."""
    words = "".join(f'    case {index}: return "word {index}";\n' for index in range(12))
    (tmp_path / "words.c").write_text(f"const char *word(int n) {{\n  switch (n) {{\n{words}  default: return 0;\n  }}\n}}\n")
    target = ("--target=arm-none-eabi", "-mcpu=cortex-m4", "-mthumb", "-fropi", "-frwpi")
    clang(config, tmp_path, *target, "-Oz", "-c", "words.c", "-o", "words.o")
    assert "R_ARM_ABS32" not in run([toolchain.tool("llvm-readelf"), "-r", "words.o"], tmp_path).stdout


def test_remarks_say_how_much_was_decided(config: Path, source: Path) -> None:
    said = clang(config, source.parent, "-Oz", "-Rpass=mlcb", "-c", source.name, "-o", "out.o").stderr
    assert re.search(r"remark: ((function_posetrl|posetrl|inliner): [1-9]\d* decisions?|.*; kept: default<Oz>) \[-Rpass=mlcb\]", said)


@pytest.mark.parametrize(("guard", "candidates"), [(False, 0), (True, 0), (False, 2)], ids=["alone", "guarded", "candidates"])
@pytest.mark.parametrize("task", ["function_size", "function_posetrl", "posetrl"])
def test_remarks_name_the_actions_that_were_taken(task: str, guard: bool, candidates: int, tmp_path: Path) -> None:
    (tmp_path / "show.c").write_text(SHOW)
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()[task]], guard=guard, candidates=candidates)
    said = clang(config, tmp_path, "-Oz", "-Rpass=mlcb", "-c", "show.c", "-o", "out.o").stderr
    taken = re.findall(r"show.c:4:5: remark: action (\d+): (.*) \[-Rpass=mlcb\]", said)
    actions = read_manifest(shipped()[task])["parameters"]["actions"]
    assert taken
    assert [text for _, text in taken] == [beginning(actions[int(index)]) for index, _ in taken]


def beginning(action: str) -> str:
    return action if len(action) <= 100 else f"{action[:100]}..."


def test_record_of_optimizations_says_it_too(config: Path, source: Path) -> None:
    clang(config, source.parent, "-Oz", "-fsave-optimization-record", "-c", source.name, "-o", "out.o")
    ours = re.findall(r"Pass: +mlcb\nName: +\w+\n(?:.*\n)*?  - String: +'?(.*?)'?\n", (source.parent / "out.opt.yaml").read_text())
    assert any(re.search(r"(function_posetrl|posetrl|inliner): [1-9]\d* decisions?|kept: ", said) for said in ours)


def program_for(policy: str, folder: Path) -> Path:
    """Write a program that a policy has something to decide about."""
    loops = kernels.source([kernel for kernel in kernels.kernels() if kernel.split == "test"])
    (folder / "program.c").write_text(loops if policy == "loop_distribution" else embedded("embedded/test/forth")[0].read_text())
    return folder / "program.c"


@pytest.mark.parametrize("policy", shipped())
def test_object_is_the_policys_own(policy: str, tmp_path: Path) -> None:
    """All that is compared with stock would be equal, too, where nobody decides."""
    source = program_for(policy, tmp_path)
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()[policy]])
    for which, name in ((config, "own.o"), (None, "stock.o")):
        clang(which, tmp_path, LEVELS.get(policy, "-Oz"), "-w", "-c", source.name, "-o", name)
    assert (tmp_path / "own.o").read_bytes() != (tmp_path / "stock.o").read_bytes()


@pytest.mark.parametrize("policy", shipped())
def test_debug_information_changes_no_code(policy: str, tmp_path: Path) -> None:
    source = program_for(policy, tmp_path)
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()[policy]])
    for name, flags in (("plain", ()), ("debug", ("-g",))):
        clang(config, tmp_path, LEVELS.get(policy, "-Oz"), *flags, "-w", "-c", source.name, "-o", f"{name}.o")
        run([OBJCOPY, "-O", "binary", "--only-section=.text", f"{name}.o", name], tmp_path)
    assert (tmp_path / "debug").read_bytes() == (tmp_path / "plain").read_bytes() != b""


@pytest.mark.parametrize("policy", shipped())
def test_little_memory_is_enough(policy: str, source: Path) -> None:
    """As a limit of a build system's may have it: stock needs 300 MB of addresses."""
    config = write_clang_config(source.parent / "mlcb.cfg", [shipped()[policy]])
    limited: list[str | Path] = [
        "bash",
        "-c",
        'ulimit -v 400000; exec "$@"',
        "clang",
        CLANG,
        f"--config={config}",
        LEVELS.get(policy, "-Oz"),
        "-c",
        source.name,
    ]
    assert run(limited, source.parent).stderr == ""


def test_guard_measures_a_module_that_names_no_target(tmp_path: Path) -> None:
    (tmp_path / "plain.ll").write_text("define i32 @triple(i32 %x) {\n  %y = mul i32 %x, 3\n  ret i32 %y\n}\n")
    posetrl = ["-passes=posetrl", f"-mlcb-runner=onnx:{shipped()['posetrl']}", "-mlcb-guard", "-pass-remarks=mlcb"]
    said = run([OPT, f"-load-pass-plugin={toolchain.plugin()}", *posetrl, "plain.ll", "-S", "-o", "out.ll"], tmp_path).stderr
    assert re.search(r"posetrl: \d+ bytes, default<Oz>: \d+ bytes", said)


def test_ccache_has_no_stale_hit(source: Path) -> None:
    """A configuration of the same policy is a hit, one of another in its place is none."""
    folder = source.parent
    hits = []
    for policy in ("posetrl", "posetrl", "inliner"):
        shutil.copytree(shipped()[policy], folder / "policy", dirs_exist_ok=True)
        config = write_clang_config(folder / "mlcb-{digest}.cfg", [folder / "policy"])
        said = run(["env", f"CCACHE_DIR={folder}/cache", "ccache", CLANG, f"--config={config}", "-Oz", "-c", source.name], folder)
        assert said.stderr == ""
        hits.append(int(statistics(folder)["direct_cache_hit"]))
    assert hits == [0, 1, 1]


def statistics(folder: Path) -> dict[str, str]:
    listed = run(["env", f"CCACHE_DIR={folder}/cache", "ccache", "--print-stats"], folder).stdout
    return dict(line.split("\t") for line in listed.splitlines())
