# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What several tests need: a tiny program, a compiler without LLVM, and one that is real."""

import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import command
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.limits import lower
from mlcb_gym.session import WorkerSession, tool_process
from mlcb_gym.testing import ScriptedCompiler
from tests.support.making import making
from tests.support.posetrl import ACTIONS, SOURCE


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--native", type=Path, metavar="FOLDER", help="of a build: test the plugin and the worker that lie here")


def pytest_configure(config: pytest.Config) -> None:
    if (folder := config.getoption("--native")) is not None:
        built = {"lib/libmlcb_llvm.so": folder / "libmlcb_llvm.so", "bin/mlcb-worker": folder / "mlcb-worker"}
        toolchain._installed = lambda relative: built[relative].resolve(strict=True)
        # AddressSanitizer reserves more addresses than any limit of opt and clang.
        for starts in (command, tool_process):
            starts.lower = lambda pid, kind, *most: None if kind == resource.RLIMIT_AS else lower(pid, kind, *most)  # type: ignore[attr-defined]


@pytest.fixture(scope="module", autouse=True)
def ray_ends() -> Iterator[None]:
    """Ends the Ray of a module, and imports it nowhere."""
    yield
    if (ray := sys.modules.get("ray")) and ray.is_initialized():
        ray.shutdown()


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programs") / "sum.c"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def leaf(tmp_path: Path) -> Path:
    """A program in which nothing is left to a policy of any task but phase ordering."""
    path = tmp_path / "leaf.c"
    path.write_text("int leaf(int x) { return x + 1; }\n")
    return path


@pytest.fixture
def scripted() -> Iterator[ScriptedCompiler]:
    compiler = ScriptedCompiler()
    yield compiler
    compiler.close()


@pytest.fixture(scope="session")
def worker() -> Iterator[WorkerSession]:
    session = WorkerSession()
    yield session
    session.close()


@pytest.fixture
def make_env(program: Path, worker: WorkerSession) -> Iterator[Callable[..., PosetRLEnv]]:
    """Makes environments on the tiny program in one worker, and closes them."""
    with making(PosetRLEnv, programs=program, actions=ACTIONS, session=worker) as make:
        yield make
