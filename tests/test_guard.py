# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The guard of modules tries what this very invocation would make, and keeps the smallest."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from mlcb_gym.session.objects import object_size
from tests.support.builds import clang, run

SOURCE = """
#include <stdio.h>
#include <string.h>
static int hash(const char *s) { int h = 7; while (*s) h = h * 31 + *s++; return h; }
const char *name_of(int n) {
  switch (n) {
    case 0: return "no";
    case 1: return "one";
    case 2: return "two";
    case 3: return "three";
    case 4: return "four";
    case 5: return "five";
    case 6: return "six";
    case 7: return "seven";
    case 8: return "eight";
    case 9: return "nine";
    case 10: return "ten";
    case 11: return "eleven";
    default: return "many";
  }
}
static void say(const char *who, int n) { for (int i = 0; i < n; ++i) printf("%s %s %d\\n", who, name_of(i), hash(who) % 100); }
int compare(const char *a, const char *b) { return strcmp(a, b) ? hash(a) - hash(b) : 0; }
int main(int argc, char **argv) {
  char name[32] = "guard";
  say(name, argc);
  for (int i = 0; i < 5; ++i) name[i] ^= 1;
  say(name, argc + 1);
  return compare("a", "a");
}
"""


def guarded(folder: Path, tasks: Sequence[str], *options: str) -> tuple[dict[str, int], str]:
    """Compiles the source; the bytes of each trial, and which one was kept."""
    (folder / "source.c").write_text(SOURCE)
    write_clang_config(folder / "mlcb.cfg", [shipped()[task] for task in tasks], guard=True)
    said = clang(folder / "mlcb.cfg", folder, "-Oz", "-Rpass=mlcb", *options, "-c", "source.c", "-o", "guarded.o").stderr
    (trials, kept) = re.findall(r"remark: (.*); kept: (\S+) \[", said)[0]
    return {name: int(size) for name, size in re.findall(r"(\S+): (\d+) bytes", trials)}, kept


@pytest.mark.parametrize("tasks", [["posetrl"], ["inliner"], ["posetrl", "inliner"]], ids=" ".join)
def test_the_smallest_trial_is_kept(tasks: list[str], tmp_path: Path) -> None:
    trials, kept = guarded(tmp_path, tasks)
    assert trials.keys() == {*tasks, "default<Oz>"}
    assert trials[kept] == min(trials.values())


def test_policies_together_are_as_small_as_the_best_alone(tmp_path: Path) -> None:
    alone = {task: guarded(tmp_path, [task])[0][task] for task in ("posetrl", "inliner")}
    together, _ = guarded(tmp_path, list(alone))
    assert {task: together[task] for task in alone} == alone


@pytest.mark.parametrize("flag", ["-fsanitize=address", "-fprofile-generate", "-fno-pic", "-fno-asynchronous-unwind-tables"])
def test_trials_heed_the_flags_of_the_build(flag: str, tmp_path: Path) -> None:
    plain, _ = guarded(tmp_path, ["posetrl"])
    flagged, _ = guarded(tmp_path, ["posetrl"], flag)
    assert flagged["default<Oz>"] != plain["default<Oz>"]


def test_labels_in_position_independent_data_are_relocated(tmp_path: Path) -> None:
    (tmp_path / "source.c").write_text("void *at(int i) { static void *t[] = {&&a, &&b}; goto *t[i]; a: return t[0]; b: return t[1]; }")
    write_clang_config(tmp_path / "mlcb.cfg", [shipped()["posetrl"]], guard=True)
    said = clang(tmp_path / "mlcb.cfg", tmp_path, "-Oz", "-fPIC", "-Rpass=mlcb", "-c", "source.c", "-o", "guarded.o").stderr
    clang(None, tmp_path, "-Oz", "-fPIC", "-c", "source.c", "-o", "stock.o")
    frame_table_entry, relocation = 8, 24
    assert f"default<Oz>: {object_size(tmp_path / 'stock.o') + frame_table_entry + 2 * relocation} bytes" in said


def test_target_without_objects_is_compiled_as_stock_does(tmp_path: Path) -> None:
    (tmp_path / "source.c").write_text("int step(int x) { return x & 1 ? 3 * x + 1 : x / 2; }")
    write_clang_config(tmp_path / "mlcb.cfg", [shipped()["posetrl"]], guard=True)
    compiled = ["--target=nvptx64-nvidia-cuda", "-Oz", "-S", "source.c", "-o"]
    assert "kept: default<Oz>" in clang(tmp_path / "mlcb.cfg", tmp_path, "-Rpass=mlcb", *compiled, "guarded.s").stderr
    clang(None, tmp_path, *compiled, "stock.s")
    assert (tmp_path / "guarded.s").read_bytes() == (tmp_path / "stock.s").read_bytes()


@pytest.mark.parametrize("flags", [[], ["-fPIC", "-shared"], ["-fsanitize=address"], ["-fno-pie", "-no-pie"]], ids=" ".join)
def test_what_is_linked_is_not_larger(flags: list[str], tmp_path: Path) -> None:
    guarded(tmp_path, ["posetrl", "inliner"])
    for name, config in (("stock", None), ("guarded", tmp_path / "mlcb.cfg")):
        clang(config, tmp_path, "-Oz", "-s", *flags, "source.c", "-o", name)
    assert (tmp_path / "guarded").stat().st_size <= (tmp_path / "stock").stat().st_size
    if "-shared" not in flags:
        assert run(["./guarded"], tmp_path).stdout == run(["./stock"], tmp_path).stdout


@pytest.mark.parametrize("program", resolve("embedded/test"), ids=lambda program: program.name)
def test_what_llc_makes_of_a_guarded_module_is_not_larger(program: Program, tmp_path: Path) -> None:
    policy = ["-mlcb-guard", f"-mlcb-runner=onnx:{shipped()['posetrl']}", f"-mlcb-vocabulary={toolchain.vocabulary()}"]
    for name, options in (("stock", []), ("guarded", policy)):
        passes = [f"-load-pass-plugin={toolchain.plugin()}", "-passes=default<Oz>", *options]
        run([toolchain.tool("opt"), *passes, program.bitcode, "-o", f"{name}.bc"], tmp_path)
        run([toolchain.tool("llc"), "-relocation-model=pic", "-filetype=obj", f"{name}.bc", "-o", f"{name}.o"], tmp_path)
    assert object_size(tmp_path / "guarded.o") <= object_size(tmp_path / "stock.o")


@pytest.mark.parametrize("level", ["-Oz", "-O2"])
@pytest.mark.parametrize("name", ["validation/chacha20", "validation/text_codec", "validation/lu_decomposition", "train/stack_vm"])
def test_registers_take_no_more_code(name: str, level: str, tmp_path: Path) -> None:
    """Policies were taught cost, which longer code may lower."""
    (program,) = corpora.embedded(f"embedded/{name}")
    write_clang_config(tmp_path / "mlcb.cfg", [shipped()[task] for task in ("eviction", "priority")], guard=True)
    for output, config in (("stock.o", None), ("guarded.o", tmp_path / "mlcb.cfg")):
        clang(config, tmp_path, "-w", level, "-c", program, "-o", output)
    assert object_size(tmp_path / "guarded.o") <= object_size(tmp_path / "stock.o")


@pytest.mark.parametrize(("tasks", "candidates"), [("posetrl", 0), ("function_posetrl", 3), ("function_size", 3), ("rl4real eviction", 3)])
def test_policies_decide_where_frames_pass_a_limit_and_pass_it_no_more_often(tasks: str, candidates: int, tmp_path: Path) -> None:
    (program,) = corpora.embedded("embedded/test/btree")
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()[task] for task in tasks.split()], guard=True, candidates=candidates)
    options = ("-Oz", "-Wno-everything", "-Wframe-larger-than=64", "-c", str(program), "-o")
    often, at_most = (clang(by, tmp_path, *options, output).stderr.count("exceeds limit") for by, output in ((config, "own.o"), (None, "stock.o")))
    assert 0 < often <= at_most
    assert (tmp_path / "own.o").read_bytes() != (tmp_path / "stock.o").read_bytes()


@pytest.mark.parametrize(("tasks", "candidates"), [("posetrl function_size", 0), ("posetrl function_size", 3), ("function_posetrl", 3)])
def test_limit_that_stock_passes_as_often_changes_no_code(tasks: str, candidates: int, tmp_path: Path) -> None:
    """Where one comparison follows another, a limit counts once."""
    (program,) = corpora.embedded("embedded/test/btree")
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()[task] for task in tasks.split()], guard=True, candidates=candidates)
    for warnings, output in (("-w", "silent.o"), ("-Wframe-larger-than=64", "warned.o")):
        clang(config, tmp_path, "-Oz", "-Wno-everything", warnings, "-c", program, "-o", output)
    assert (tmp_path / "warned.o").read_bytes() == (tmp_path / "silent.o").read_bytes()
