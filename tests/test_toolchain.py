# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folder of LLVM 22's tools that a user names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.errors import ToolchainError
from mlcb_gym.toolchain import tool


@pytest.fixture(autouse=True)
def _nothing_is_known_before_or_after() -> Iterator[None]:
    tool.cache_clear()
    yield
    tool.cache_clear()


def test_folder_without_the_tool_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCB_LLVM_BIN", str(tmp_path))
    with pytest.raises(ToolchainError, match=f"MLCB_LLVM_BIN is '{tmp_path}', that has none: expected a folder with clang of LLVM 22"):
        tool("clang")


def test_tool_of_another_llvm_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "clang"
    old.write_text("#!/bin/sh\necho clang version 19.1.7\n")
    old.chmod(0o755)
    monkeypatch.setenv("MLCB_LLVM_BIN", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"whose clang is of 'clang version 19\.1\.7'"):
        tool("clang")


def test_folder_that_has_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tool("clang").parent
    tool.cache_clear()
    monkeypatch.setenv("MLCB_LLVM_BIN", str(folder))
    assert tool("clang") == folder / "clang"


def test_empty_variable_names_no_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = toolchain.environment()["MLCB_VOCABULARY"]
    monkeypatch.setenv("MLCB_VOCABULARY", "")
    assert toolchain.environment()["MLCB_VOCABULARY"] == shipped
