# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module compiled without some optimizations of the code generator: measured as clang compiles it, and nowhere else."""

from contextlib import closing
from pathlib import Path

import pytest

from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.function_size import FunctionSizeEnv
from mlcb_gym.envs.record import SMALLER
from mlcb_gym.errors import TaskError
from mlcb_gym.evaluation.stock_ways import evaluate_stock
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from tests.support.builds import clang

WITHOUT = ("lsr", "machine-licm")
FLAGS = [flag for name in WITHOUT for flag in ("-mllvm", f"-disable-{name}")]
PROGRAM = "embedded/test/aes"


def kept(**arguments: object) -> dict[str, float]:
    """Play an episode that changes no function; return what was measured."""
    with closing(FunctionSizeEnv(programs=PROGRAM, **arguments)) as env:  # type: ignore[arg-type]
        _, info = env.reset(seed=1)
        ended = False
        while not ended:
            *_, ended, _, info = env.step(0)
        return {name: info[name] for name in ("size", "size_default", "text")}


def test_what_changes_nothing_is_as_stock_without_them() -> None:
    found, usual = kept(without=WITHOUT), kept()
    assert usual["size"] == usual["size_default"] == found["size_default"]
    stock = evaluate_stock({"without": SMALLER["-Oz, neither LSR nor machine LICM"]}, resolve(PROGRAM), ["size"])["without"]["size"]
    assert [found["size"] / found["size_default"]] == stock
    assert found["size"] < usual["size"]


def test_other_names_are_refused_with_those_there_are() -> None:
    with pytest.raises(TaskError, match=r"without: 'verify', expected some of lsr, machine-licm"):
        FunctionSizeEnv(programs=PROGRAM, without=["verify"]).reset()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "source.c").write_text(corpora.embedded(PROGRAM)[0].read_text())
    return tmp_path


def built(folder: Path, config: Path | None, *flags: str) -> bytes:
    clang(config, folder, *flags, "-w", "-fno-ident", "-c", "source.c", "-o", "source.o")
    return (folder / "source.o").read_bytes()


def test_functions_without_unwind_tables_gain_by_them_alone(folder: Path) -> None:
    config, plain = write_clang_config(folder / "mlcb.cfg", [shipped()["function_size"]]), "-fno-asynchronous-unwind-tables"
    assert built(folder, config, "-Oz", plain) == built(folder, None, "-Oz", plain, *FLAGS)


@pytest.mark.parametrize("level", ["-O2", "-Os"])
def test_other_levels_keep_them(level: str, folder: Path) -> None:
    config = write_clang_config(folder / "mlcb.cfg", [shipped()["function_size"]])
    assert built(folder, config, level, "-Wno-backend-plugin") == built(folder, None, level)


def test_options_of_the_user_stay(folder: Path) -> None:
    config, own = write_clang_config(folder / "mlcb.cfg", [shipped()["function_size"]]), ["-mllvm", "-disable-machine-licm=false"]
    plain = "-fno-asynchronous-unwind-tables"
    assert built(folder, config, "-Oz", plain, *own) == built(folder, None, "-Oz", plain, "-mllvm", "-disable-lsr", *own)


@pytest.mark.parametrize("tried", [{"guard": True}, {"candidates": 3}])
def test_the_smallest_way_is_written(tried: dict[str, int], folder: Path) -> None:
    config = write_clang_config(folder / "mlcb.cfg", [shipped()["function_size"]], **tried)  # type: ignore[arg-type]
    smallest = min(len(built(folder, None, "-Oz")), len(built(folder, None, "-Oz", *FLAGS)))
    assert len(built(folder, config, "-Oz")) < smallest


def test_assembly_under_the_guard_is_without_them_too(folder: Path) -> None:
    config = write_clang_config(folder / "mlcb.cfg", [shipped()["function_size"]], guard=True)
    plain = ["-Oz", "-fno-asynchronous-unwind-tables", "-w", "-S", "source.c"]
    clang(config, folder, *plain, "-o", "own.s")
    clang(None, folder, *plain, *FLAGS, "-o", "stock.s")
    assert (folder / "own.s").read_text() == (folder / "stock.s").read_text()
