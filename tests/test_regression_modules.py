# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's own regression tests, measured by a worker under AddressSanitizer: whatever a module holds, the heap stays whole."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock

from mlcb_gym import toolchain
from mlcb_gym.corpus.sources import Source, unpack
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import CompilerError, NoDecisions, ProgramError
from mlcb_gym.session import WorkerSession

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "address-worker"
OPTIONS = ["-DMLCB_SANITIZE=address", "-DMLCB_PYTHON=OFF", "-DMLCB_ONNX=OFF", f"-DPython_EXECUTABLE={sys.executable}"]
TARGET = "x86_64-unknown-linux-gnu"
LLVM = Source(
    name="llvm-toolchain-19",
    split="test",
    origin="debian",
    version="19.1.7",
    sha256="ae498f3bc58ae2d9f64ef5f0c035c4240152bf015a5b7738b15c22e93bdc97ce",
)
FOLDERS = {"Transforms/Inline": 1, "Transforms/SimplifyCFG": 1, "Transforms/InstCombine": 4, "CodeGen/X86": 16}
"""The folders of tests, each with the number of parts that it is cut into."""
STEPS = 2

pytestmark = pytest.mark.slow


def run(*command: object, seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace", timeout=seconds, check=False)


@pytest.fixture(scope="module")
def worker() -> Path:
    """A worker with AddressSanitizer; what was built is not built again."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with FileLock(BUILD / ".lock"):
        for command in (["-G", "Ninja", "-S", ROOT, "-B", BUILD, *OPTIONS], ["--build", BUILD, "--target", "mlcb-worker"]):
            done = run("cmake", *command, seconds=3600)
            assert done.returncode == 0, done.stdout + done.stderr
    return BUILD / "native" / "mlcb-worker"


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder ``llvm/test`` of LLVM's sources."""
    shared = tmp_path_factory.getbasetemp().parent / "llvm-tests"
    with FileLock(f"{shared}.lock"):
        if not shared.exists():
            unpack(LLVM, shared, lambda name: name.endswith(".ll") and any(f"/llvm/test/{folder}/" in name for folder in FOLDERS))
    (top,) = shared.iterdir()
    return top / "llvm" / "test"


def assembled(texts: list[Path], folder: Path) -> Iterator[Path]:
    """Yield the bitcode of those that parse under this LLVM; a module without a target gets one."""
    for text in texts:
        bitcode = folder / f"{text.stem}.bc"
        target = [] if "target triple" in text.read_text(errors="replace") else [f"-mtriple={TARGET}"]
        if run(toolchain.tool("opt"), "-passes=verify", *target, text, "-o", bitcode, seconds=60).returncode == 0:
            yield bitcode


@pytest.mark.parametrize(("folder", "part"), [(folder, part) for folder, parts in FOLDERS.items() for part in range(parts)])
def test_measuring_leaves_the_heap_whole(folder: str, part: int, worker: Path, tests: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "worker", lambda: worker)
    monkeypatch.setenv("ASAN_OPTIONS", f"detect_leaks=0:log_path={tmp_path}/found")
    modules = list(assembled(sorted((tests / folder).rglob("*.ll"))[part :: FOLDERS[folder]], tmp_path))
    assert len(modules) > 100
    measured = 0  # in no sandbox, in which nothing that is found could be written down
    with closing(WorkerSession(sandbox="none")) as session, closing(PosetRLEnv(programs=modules, session=session)) as env:
        for module in modules:
            try:
                env.reset(seed=1, options={"program": str(module)})
                for action in range(STEPS):
                    *_, terminated, truncated, _ = env.step(action)
                    if terminated or truncated:
                        break
            except (CompilerError, NoDecisions, ProgramError):  # LLVM itself gives up on some, as its tests expect
                continue
            measured += 1
    assert measured > len(modules) / 2
    assert not "\n".join(found.read_text() for found in tmp_path.glob("found*"))
