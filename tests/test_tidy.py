# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of what scripts/tidy.py has on record."""

import json
from pathlib import Path

import pytest

from scripts import tidy


def test_interrupted_run_keeps_on_record_what_was_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (".clang-tidy", "clean.cpp", "interrupted.cpp"):
        (tmp_path / name).touch()
    (tmp_path / "compile_commands.json").write_text(json.dumps([{"file": str(path)} for path in tmp_path.glob("*.cpp")]))
    said = {"clean.cpp": iter([""]), "interrupted.cpp": iter([])}  # the latter raises
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    monkeypatch.setattr(tidy, "NATIVE", tmp_path)
    monkeypatch.setattr(tidy, "RECORD", tmp_path / "tidy.clean")
    monkeypatch.setattr(tidy, "as_completed", list)  # in their order
    monkeypatch.setattr(tidy, "findings", lambda _, path: next(said[path.name]))
    with pytest.raises(StopIteration):
        tidy.main(tmp_path)
    assert tidy.RECORD.read_text().split() == ["clean.cpp", tidy.digest(tmp_path / "clean.cpp")]


def test_file_whose_reader_was_killed_is_not_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "killed").write_text("#!/bin/sh\nkill -KILL $$\n")
    (tmp_path / "killed").chmod(0o755)
    monkeypatch.setattr(tidy, "TIDY", str(tmp_path / "killed"))
    assert "ended with -9" in tidy.findings(tmp_path, tmp_path / "any.cpp")
