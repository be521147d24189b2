# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mlcb doctor` finds each part of a machine, and says what to do where one is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mlcb_gym import toolchain
from mlcb_gym.cli.main import app
from mlcb_gym.errors import ToolchainError
from mlcb_gym.tools.doctor import Check, checks, examine
from tests.support.command_line import mlcb

KERNEL = {"Landlock", "whole sandbox", "seccomp", "huge pages for code"}


def test_machine_that_builds_this_package_has_what_everything_needs() -> None:
    done = mlcb("doctor", "--json")
    found = {each["name"]: each for each in json.loads(done.stdout)}
    assert done.returncode == 0
    assert [name for name, each in found.items() if each["needed"] and not each["ok"]] == []
    assert found["clang"]["said"].startswith(f"{toolchain.LLVM_MAJOR}.")
    assert found["plugin in clang"]["ok"]
    assert found["plugin in opt"]["ok"]


def test_every_check_is_a_line_with_its_name() -> None:
    lines = mlcb("doctor").stdout.splitlines()
    assert [line[9:].startswith(check.name) for check, line in zip(checks(), lines, strict=True)] == [True] * len(checks())


def test_missing_llvm_is_named_with_what_works_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCB_LLVM_BIN", str(tmp_path))
    done = mlcb("doctor")
    clang = next(line for line in done.stdout.splitlines() if line.startswith("missing  clang"))
    assert done.returncode == 0
    assert "apt-get install clang-22" in clang
    assert "works without: environments, training and export, on .bc files" in clang


def test_part_that_everything_needs_makes_the_exit_code_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> Path:
        raise ToolchainError("no worker")

    monkeypatch.setattr(toolchain, "worker", gone)
    toolchain.version.cache_clear()
    done = CliRunner().invoke(app, ["doctor"])
    toolchain.version.cache_clear()
    assert done.exit_code == 1
    assert "no worker; to do: install the wheel" in done.stdout
    assert "nothing works without" in done.stdout


def test_check_that_raises_is_a_finding_like_any_other() -> None:
    def look() -> str:
        raise OSError("no such part")

    (finding,) = examine([Check("part", look, "buy one")])
    assert (finding.ok, finding.said, finding.check.needed) == (False, "no such part", True)


def test_few_open_files_are_a_finding() -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); from mlcb_gym.cli.main import app; app(['doctor', '--json'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    files = next(each for each in json.loads(done.stdout) if each["name"] == "open files")
    assert (files["ok"], files["said"]) == (False, "at most 64 open files, expected 256")


def test_kernel_is_no_condition_of_anything() -> None:
    assert {check.name for check in checks() if not check.needed} >= KERNEL
