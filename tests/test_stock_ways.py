# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stock LLVM used in other ways, as rows of an evaluation."""

from pathlib import Path

import pytest

from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.record import SMALLER, StockWay
from mlcb_gym.evaluation.stock_ways import evaluate_stock
from mlcb_gym.pipelines import O2, OZ

LIBRARY = "int used(int x) { return x + 1; }\nint unused(int x) { return x * 3 + x / 7; }\n"
PROGRAM = f"{LIBRARY}int main(int argc, char **argv) {{ return used(argc); }}\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "program.c").write_text(PROGRAM)
    return tmp_path


def test_usual_way_is_the_one_that_ratios_are_to(sources: Path) -> None:
    found = evaluate_stock({"usual": StockWay(), "-O2": StockWay(passes=O2)}, resolve(sources), ["size", "text"])
    assert found["usual"] == {"size": [1.0, 1.0], "text": [1.0, 1.0]}
    assert min(ratio for ratio in found["-O2"]["text"] if ratio) >= 1.0


def test_whole_programs_alone_are_internalised(sources: Path) -> None:
    library, program = evaluate_stock({"internalised": SMALLER["-Oz, internalised"]}, resolve(sources), ["size"])["internalised"]["size"]
    assert library is None
    assert program is not None
    assert program < 0.7


def test_options_of_the_code_generator_count() -> None:
    ways = {"plain": StockWay(passes=OZ), "without": SMALLER["-Oz, neither LSR nor machine LICM"]}
    found = evaluate_stock(ways, resolve("embedded/test/aes"), ["size"])
    assert found["plain"]["size"] != found["without"]["size"]
