# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for other machines than this one do what stock's do."""

from pathlib import Path

import pytest

from mlcb_gym.corpus import corpora
from scripts.other_targets import TARGETS, WAYS, rows


@pytest.mark.slow
def test_programs_for_other_targets_run_as_stocks(tmp_path: Path) -> None:
    sizes = dict(rows(corpora.embedded("embedded/validation")[:4], tmp_path))
    assert list(sizes) == [way.name for way in WAYS]
    for name, means in sizes.items():
        assert len(means) == len(TARGETS)
        if "guarded" in name or "candidates" in name:
            assert max(means) < 1.005, name
