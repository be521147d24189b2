# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts that are nearly right: each is read, or refused in one line."""

from itertools import islice
from pathlib import Path

import pytest

from tests.support.mutants import READERS, mutants, refusal


@pytest.mark.parametrize("reader", READERS)
def test_text_that_is_nearly_right_is_read_or_refused_in_one_line(reader: str, tmp_path: Path) -> None:
    said = [refusal(reader, text, tmp_path) for text in islice(mutants(reader, seed=1), 1000)]
    assert None in said
    assert {error.count("\n") for error in said if error} == {0}
