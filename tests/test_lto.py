# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a build optimizes when it links, policies decide in the link, once, and nowhere before."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from tests.support.builds import clang, run
from tests.support.policies import forge

MAIN = """
#include <stdio.h>
int step(int x);
static int length(int x) { int n = 0; while (x != 1) { x = step(x); ++n; } return n; }
int main(int argc, char **argv) {
  long sum = 0;
  int a[100], b[100], c[100];
  for (int i = 1; i < 2000 * argc; ++i) sum += length(i);
  for (int i = 0; i < 100; ++i) { a[i] = i; b[i] = a[i] * 3; c[i] = b[i] + argc; sum += c[i]; }
  printf("%ld\\n", sum);
  return 0;
}
"""
STEP = "int step(int x) { return x & 1 ? 3 * x + 1 : x / 2; }"
OUTPUT = "148938\n"
TASKS = ("posetrl", "inliner", "eviction", "priority", "loop_distribution")
GUARDABLE = TASKS[:-1]
OF_OZ = ("posetrl", "inliner", "function_posetrl")
CONFIGURATIONS = {
    **{task: ((task,), False) for task in (*TASKS, "function_posetrl")},
    "all": (TASKS, False),
    **{f"{task} guarded": ((task,), True) for task in (*GUARDABLE, "function_posetrl")},
    "all guarded": (GUARDABLE, True),
}
NOBODY = "mlcb: warning: -flto: policies decide in a link by lld with a file of 'mlcb clang-config --lto'; nobody does in this bitcode\n"


def configuration(folder: Path, tasks: Sequence[str], *, guard: bool = False, lto: bool = True) -> Path:
    path = folder / "mlcb.cfg"
    write_clang_config(path, [shipped()[task] for task in tasks], guard=guard, lto=lto)
    return path


@pytest.fixture
def sources(tmp_path: Path) -> list[str]:
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "step.c").write_text(STEP)
    return ["main.c", "step.c"]


@pytest.mark.parametrize("kind", ["full", "thin"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_policies_decide_in_the_link(name: str, kind: str, sources: list[str], tmp_path: Path) -> None:
    tasks, guard = CONFIGURATIONS[name]
    config = configuration(tmp_path, tasks, guard=guard)
    said = clang(config, tmp_path, "-O2", f"-flto={kind}", *sources, "-o", "program", "-Wl,-mllvm,-pass-remarks=mlcb").stdout
    assert run(["./program"], tmp_path).stdout == OUTPUT
    if guard:
        assert "kept: " in said
    else:  # passes of a policy's leave no inliner to ask
        assert all(f"{task}: " in said for task in tasks if task != "inliner" or "posetrl" not in tasks), said
    again = clang(config, tmp_path, "-O2", f"-flto={kind}", *sources, "-o", "again", "-Wl,--fatal-warnings")
    warned = [] if guard else [task for task in tasks if task in OF_OZ][:1]
    assert re.findall(r"mlcb: warning: the policy for (\w+) was taught at -Oz, and is asked at -O1 to -O3\n", again.stderr) == warned
    assert again.stdout == ""
    assert again.stderr.count("\n") == len(warned)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "program").read_bytes()


@pytest.mark.parametrize("kind", ["full", "thin"])
def test_nobody_decides_before_the_link(kind: str, sources: list[str], tmp_path: Path) -> None:
    compiled = ["-Oz", f"-flto={kind}", "-c", sources[0], "-o"]
    clang(None, tmp_path, *compiled, "stock.o")
    assert clang(configuration(tmp_path, TASKS), tmp_path, *compiled, "ours.o").stderr == ""
    assert (tmp_path / "ours.o").read_bytes() == (tmp_path / "stock.o").read_bytes()


def test_a_link_that_asks_nobody_is_said(sources: list[str], tmp_path: Path) -> None:
    linked = ["-Oz", "-flto", "-Werror", "-fuse-ld=gold", *sources, "-o"]
    clang(None, tmp_path, *linked, "stock")
    assert clang(configuration(tmp_path, TASKS, lto=False), tmp_path, *linked, "ours").stderr == 2 * NOBODY
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "stock").read_bytes()


def test_a_build_that_does_not_optimize_when_it_links_is_as_without(sources: list[str], tmp_path: Path) -> None:
    built = ["-Oz", "-Werror", *sources, "-o"]
    clang(configuration(tmp_path, TASKS), tmp_path, *built, "for-lto")
    clang(configuration(tmp_path, TASKS, lto=False), tmp_path, "-fuse-ld=lld", *built, "for-none")
    assert (tmp_path / "for-lto").read_bytes() == (tmp_path / "for-none").read_bytes()


@pytest.mark.parametrize("kind", ["full", "thin"])
def test_always_inline_holds_across_files(kind: str, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int seven(void); int main(void) { return seven() - 7; }")
    (tmp_path / "seven.c").write_text("__attribute__((always_inline)) int seven(void) { return 7; }")
    clang(configuration(tmp_path, ["posetrl"]), tmp_path, "-O1", f"-flto={kind}", "main.c", "seven.c", "-o", "program")
    assert run(["./program"], tmp_path).stdout == ""
    assert "call" not in run([toolchain.tool("llvm-objdump"), "-d", "--disassemble-symbols=main", "program"], tmp_path).stdout


def test_cache_of_a_thin_link_keeps_policies_apart(sources: list[str], tmp_path: Path) -> None:
    def linked(config: Path | None, output: str, *options: str) -> bytes:
        clang(config, tmp_path, "-Oz", "-flto=thin", "-fuse-ld=lld", *sources, "-o", output, *options)
        return (tmp_path / output).read_bytes()

    cached = f"-Wl,--thinlto-cache-dir={tmp_path / 'cache'}"
    made = [write_clang_config(tmp_path / f"{task}.cfg", [shipped()[task]], lto=True) for task in ("function_posetrl", "priority")]
    configs = [None, *made]
    own = [linked(config, "own") for config in configs]
    assert len(set(own)) == 3
    assert [linked(config, "cached", cached) for config in configs] == own
    assert [linked(config, "again", cached) for config in configs] == own


@pytest.mark.parametrize(("task", "guard"), [("inliner", True), ("posetrl", False), ("function_posetrl", False)])
def test_guard_and_options_have_the_link_use_one_thread(task: str, guard: bool, sources: list[str], tmp_path: Path) -> None:
    config = configuration(tmp_path, [task], guard=guard)
    assert "--thinlto-jobs=1" in clang(config, tmp_path, "-O2", "-flto=thin", *sources, "-###").stderr


def test_a_link_by_several_threads_is_as_stock_where_options_would_be_set(sources: list[str], tmp_path: Path) -> None:
    linked = ["-Oz", "-flto=thin", *sources, "-o"]
    clang(None, tmp_path, "-fuse-ld=lld", *linked, "stock")
    config = configuration(tmp_path, ["function_posetrl"])
    options = tmp_path / "mlcb.cfg.so.options"
    options.write_text(options.read_text().replace("-mlcb-one-thread\n", ""))
    said = clang(config, tmp_path, *linked, "ours").stderr
    assert (
        said
        == "mlcb: warning: a policy that sets options of LLVM does not decide in a thin link: expected -Wl,--thinlto-jobs=1 and -mlcb-one-thread\n"
    )
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "stock").read_bytes()


@pytest.mark.parametrize("task", ["posetrl", "function_posetrl"])
def test_options_are_set_by_no_second_thread_of_a_link(task: str, tmp_path: Path) -> None:
    names = [f"step{index}" for index in range(8)]
    for name in names:
        (tmp_path / f"{name}.c").write_text(STEP.replace("step", name))
    declared, called = "".join(f"int {name}(int x); " for name in names), " + ".join(f"{name}(7)" for name in names)
    (tmp_path / "main.c").write_text(f"{declared}int main(void) {{ return {called} - {8 * 22}; }}")
    config = configuration(tmp_path, [task])
    config.write_text(config.read_text().replace("--thinlto-jobs=1", "--thinlto-jobs=8"))
    said = clang(config, tmp_path, "-Oz", "-flto=thin", "main.c", *(f"{name}.c" for name in names), "-o", "program").stderr
    assert said == (
        "mlcb: warning: a policy that sets options of LLVM does not decide in a thin link by several threads: expected -Wl,--thinlto-jobs=1\n"
    )
    run(["./program"], tmp_path)


@pytest.mark.parametrize(("flags", "missing"), [("-flto=full -Wl,--lto-partitions=4", ""), ("-flto=thin -Wl,--thinlto-jobs=4", "-mlcb-one-thread\n")])
def test_guarded_registers_are_stocks_in_a_link_by_several_threads(flags: str, missing: str, tmp_path: Path) -> None:
    linked = ["-O2", *flags.split(), *map(str, corpora.embedded("embedded/test/btree")), "-o"]
    clang(None, tmp_path, "-fuse-ld=lld", *linked, "stock")
    config = configuration(tmp_path, ["rl4real"], guard=True)
    options = tmp_path / "mlcb.cfg.so.options"
    options.write_text(options.read_text().replace(missing, ""))
    said = clang(config, tmp_path, *linked, "ours").stderr
    expected = ": expected -Wl,--thinlto-jobs=1 and -mlcb-one-thread" if missing else " by several threads: expected -Wl,--thinlto-jobs=1"
    assert said == f"mlcb: warning: -mlcb-guard keeps what stock does in a link{expected}\n"
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "stock").read_bytes()


@pytest.mark.parametrize(("growth", "decides"), [(2.0, True), (3.0, False)])
def test_growth_of_the_inliner_is_an_option_unless_it_is_llvms(growth: float, decides: bool, sources: list[str], tmp_path: Path) -> None:
    policy = forge(Path(shutil.copytree(shipped()["inliner"], tmp_path / "policy")), growth=growth)
    config = write_clang_config(tmp_path / "mlcb.cfg", [policy], lto=True)
    options = tmp_path / "mlcb.cfg.so.options"
    assert ("--thinlto-jobs=1" in config.read_text(), "-mlcb-one-thread" in options.read_text()) == (not decides, not decides)
    options.write_text(options.read_text().replace("-mlcb-one-thread\n", ""))
    done = clang(config, tmp_path, "-Oz", "-flto=thin", *sources, "-o", "program", "-Wl,-mllvm,-pass-remarks=mlcb")
    assert ("inliner: " in done.stdout) == decides
    assert ("expected -Wl,--thinlto-jobs=1 and -mlcb-one-thread" in done.stderr) == (not decides)
    assert run(["./program"], tmp_path).stdout == OUTPUT


def test_options_of_the_linker_that_are_none_of_ours_are_refused(sources: list[str], tmp_path: Path) -> None:
    config = configuration(tmp_path, ["posetrl"])
    (tmp_path / "mlcb.cfg.so.options").write_text("-mlcb-runner=aot:nothing.so\n-O3\n")
    with pytest.raises(AssertionError, match="options: '-O3', expected an option as -mlcb-runner=URI"):
        clang(config, tmp_path, "-Oz", "-flto", *sources)
