# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks say in one line what they need."""

import os
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.__main__ import ALL, ON_CORPUS

ROOT = Path(__file__).parent.parent


def benchmarks(data: Path, *names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *names]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, env=os.environ | {"MLCB_DATA": str(data)})


def test_corpus_that_is_not_built_is_one_line_with_what_to_run(tmp_path: Path) -> None:
    done = benchmarks(tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "run `mlcb corpus build default`" in done.stderr
    others = " ".join(name for name in ALL if name not in ON_CORPUS)
    assert f"without it: `python -m benchmarks {others}`" in done.stderr


def test_unknown_benchmark_is_named(tmp_path: Path) -> None:
    assert benchmarks(tmp_path, "step", "speed").stderr.startswith("benchmarks: speed: expected some of step, ")


def test_benchmarks_on_the_corpus_are_those_that_name_it() -> None:
    uses = re.compile(r"\"default/|\"default\"|programs_of_about|episodes\.|costs\(")
    named = {name for name, module in ALL.items() if uses.search(Path(str(module.__file__)).read_text())}
    assert named == set(ON_CORPUS)
