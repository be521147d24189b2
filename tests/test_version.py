# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version stands in one file, and everything that is built or read has it from there."""

import re
from pathlib import Path

import mlcb_gym
from mlcb_gym import _native

ROOT = Path(__file__).parents[1]


def test_native_half_is_of_the_version_of_the_package() -> None:
    assert _native.__version__ == mlcb_gym.__version__


def test_changelog_begins_with_the_version() -> None:
    (first, *_) = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first == mlcb_gym.__version__


def test_no_build_file_repeats_the_version() -> None:
    assert [name for name in ("CMakeLists.txt", "pyproject.toml") if f'"{mlcb_gym.__version__}"' in (ROOT / name).read_text()] == []
