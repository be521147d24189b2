# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `make demo` shows: from a training to a picture; what stands in its place is not lost."""

from io import StringIO
from pathlib import Path

import pytest
from matplotlib import image
from rich.console import Console

from mlcb_gym.demo import PICTURE, demonstrate, emptied
from mlcb_gym.onnx.manifest import read_manifest
from tests.support.command_line import assert_one_line, mlcb


@pytest.mark.slow
def test_demo_trains_exports_compiles_and_draws(tmp_path: Path) -> None:
    said = StringIO()
    demonstrate(tmp_path, minutes=0.05, console=Console(file=said, width=200))
    assert said.getvalue().count("programs print what their unoptimized build prints") == 3
    assert read_manifest(tmp_path / "policy")["task"] == "inliner"
    height, width, _ = image.imread(tmp_path / PICTURE).shape
    assert width > height > 400


def test_demo_does_not_replace_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train/thesis.tex").write_text("")
    assert_one_line(mlcb("demo", "-o", tmp_path), "holds other things than a demo, expected an empty folder or one to replace")
    assert (tmp_path / "train/thesis.tex").exists()


def test_demo_replaces_what_an_earlier_one_made_alone(tmp_path: Path) -> None:
    folder = emptied(tmp_path / "demo")
    (folder / "train").mkdir()
    for name in (PICTURE, "notes.txt"):
        (folder / name).write_text("")
    emptied(folder)
    assert {path.name for path in folder.iterdir()} == {".mlcb-demo", "notes.txt"}
