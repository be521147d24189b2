# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy that is asked for what it was not taught for says so, once, and changes nothing else."""

import subprocess
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from tests.support.builds import clang, run

SOURCE = """
static int step(int x) { return x & 1 ? 3 * x + 1 : x / 2; }
int length(int x) { int n = 0; while (x != 1) { x = step(x); ++n; } return n; }
int twice(int *a, int n) { int sum = 0; for (int i = 0; i < n; ++i) sum += length(a[i]) * length(a[n - i]); return sum; }
"""
AT_OTHER_LEVELS = [
    ("posetrl", "-O2", "at -Oz, and is asked at -O1 to -O3"),
    ("posetrl", "-Os", "at -Oz, and is asked at -Os"),
    ("function_posetrl", "-O2", "at -Oz, and is asked at -O1 to -O3"),
    ("inliner", "-O3", "at -Oz, and is asked at -O1 to -O3"),
    ("eviction", "-Oz", "at -O1 to -O3, and is asked at -Oz"),
    ("priority", "-Os", "at -O1 to -O3, and is asked at -Os"),
]
AS_TAUGHT = [
    ("posetrl", "-Oz"),
    ("inliner", "-Oz"),
    ("function_size", "-Oz"),
    ("function_posetrl", "-Oz"),
    ("eviction", "-O2"),
    ("priority", "-O3"),
    ("loop_distribution", "-O3"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "source.c").write_text(SOURCE)
    return tmp_path


def said(task: str, folder: Path, *flags: str, guard: bool = False) -> str:
    config = write_clang_config(folder / "mlcb.cfg", [shipped()[task]], guard=guard)
    return clang(config, folder, *flags, "-c", "source.c", "-o", "source.o").stderr


@pytest.mark.parametrize(("task", "level", "why"), AT_OTHER_LEVELS)
def test_another_level_is_warned_about(task: str, level: str, why: str, folder: Path) -> None:
    assert said(task, folder, level) == f"warning: mlcb: the policy for {task} was taught {why} [-Wbackend-plugin]\n1 warning generated.\n"


@pytest.mark.parametrize(("task", "level"), AS_TAUGHT)
def test_nothing_is_said_where_it_was_taught(task: str, level: str, folder: Path) -> None:
    assert said(task, folder, level) == ""


def test_another_architecture_is_warned_about(folder: Path) -> None:
    assert "the policy for posetrl was taught for x86_64, and is asked for aarch64" in said("posetrl", folder, "-Oz", "--target=aarch64-linux-gnu")


def test_the_guard_needs_no_warning(folder: Path) -> None:
    assert said("posetrl", folder, "-O2", guard=True) == ""


@pytest.mark.parametrize("flag", ["-Werror", "-Wno-backend-plugin"])
def test_no_build_fails_by_the_warning(flag: str, folder: Path) -> None:
    silent = said("posetrl", folder, "-O2", flag) == ""
    assert silent == (flag == "-Wno-backend-plugin")


def test_many_files_of_one_process_are_warned_about_once(folder: Path) -> None:
    run([toolchain.tool("clang"), "-O2", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-S", "source.c", "-o", "source.ll"], folder)
    passes = ["-passes=posetrl,posetrl", f"-mlcb-runner=onnx:{shipped()['posetrl']}", f"-mlcb-vocabulary={toolchain.vocabulary()}"]
    command: list[str | Path] = [toolchain.tool("opt"), f"-load-pass-plugin={toolchain.plugin()}", *passes, "source.ll", "-S", "-o", "out.ll"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.count("warning: mlcb: the policy for posetrl was taught at -Oz") == 1
