# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests share lies in tests/support: none of them imports another."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))
IMPORT = re.compile(r"\b(?:from|import) (tests\b[\w.]*)")
"""In the text of programs that a test runs, too."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(TESTS)))
def test_only_support_is_imported(file: Path) -> None:
    imported = [module for module in IMPORT.findall(file.read_text()) if not module.startswith("tests.support")]
    assert imported == []
