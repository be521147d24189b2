# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel: installed by pip where there is neither LLVM nor a compiler, it plays, trains, exports and evaluates; its plugin is for any clang 22."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from auditwheel.elfutils import elf_read_dt_needed

import mlcb_gym
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from mlcb_gym.toolchain import tool
from tests.support.bare_machine import BareMachine, bare_machine

ROOT = Path(__file__).parents[1]
PACKAGES = Path(sysconfig.get_paths()["purelib"])
MOST_MEGABYTES = 100
LLVM_LESS = "apt-get install clang-22"
"""What every error says whose reason is a missing LLVM."""
COMPILING = [("evaluate", "posetrl", "--programs", "own.c"), ("aot", "posetrl"), ("clang-config", "posetrl"), ("evaluate", "loop_distribution")]
ONE = ("--programs", "embedded/validation/chacha20")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel of this tree, built anew as far as anything changed."""
    done = subprocess.run([sys.executable, "-m", "scripts.wheel"], cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    return ROOT / done.stdout.splitlines()[-2].partition(":")[0]


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    ZipFile(wheel).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> BareMachine:
    """A machine that has the wheel and what it requires."""
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap: apt install bubblewrap")
    machine = bare_machine(tmp_path_factory.mktemp("bare"))
    machine.link_packages(PACKAGES, without=r"mlcb_gym|_editable|pip\b|_distutils|distutils|__pycache__|.*\.pth$")
    done = machine.run(machine.python, "-m", "pip", "install", "--no-index", wheel, read=[wheel.parent])
    assert done.returncode == 0, done.stdout + done.stderr
    return machine


def linked(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The libraries that each shared object or program of a folder is linked with, by its name."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path.name, elf_read_dt_needed(path)


def compiled(option: str, output: Path) -> bytes:
    """The object that clang makes of a program at -Oz."""
    subprocess.run([tool("clang"), option, "-Oz", "-c", ROOT / "mlcb_gym/corpus/embedded/test/aes.c", "-o", output], check=True, timeout=60)
    return output.read_bytes()


def test_size_and_tag_are_those_of_a_wheel_for_other_machines(wheel: Path) -> None:
    assert re.fullmatch(rf"mlcb_gym-{mlcb_gym.__version__}-cp\d+-cp\d+-manylinux_2_\d+_\w+\.whl", wheel.name)
    assert wheel.stat().st_size < MOST_MEGABYTES * 1e6


def test_nothing_is_linked_with_a_library_of_llvm(unpacked: Path) -> None:
    needed = dict(linked(unpacked))
    assert {"mlcb-worker", "libmlcb_llvm.so", "libmlcb_grpc.so"} <= needed.keys()
    assert [name for name, libraries in needed.items() if any("LLVM" in library for library in libraries)] == []


def test_no_file_names_a_path_of_the_machine_that_built_it(unpacked: Path) -> None:
    paths = [str(path).encode() for path in (ROOT, PACKAGES, Path.home() / ".cache")]
    assert [str(file) for file in unpacked.rglob("*") if file.is_file() and any(path in file.read_bytes() for path in paths)] == []


def test_licences_of_all_that_is_in_it_come_with_it(unpacked: Path) -> None:
    licences = {path.name for path in unpacked.glob("*.dist-info/licenses/**/*") if path.is_file()}
    assert {"LICENSE", "llvm-22-dev", "libgrpc29", "libssl3", "nanobind"} <= licences


def test_plugin_decides_in_this_machines_clang_as_the_one_of_this_tree(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = compiled(f"--config={write_clang_config(tmp_path / 'ours.cfg', [shipped()['function_size']])}", tmp_path / "ours.o")
    (unpacked / "onnxruntime").symlink_to(PACKAGES / "onnxruntime")
    monkeypatch.setattr("mlcb_gym.toolchain.plugin", lambda: unpacked / "mlcb_gym/lib/libmlcb_llvm.so")
    theirs = compiled(f"--config={write_clang_config(tmp_path / 'theirs.cfg', [shipped()['function_size']])}", tmp_path / "theirs.o")
    assert ours == theirs != compiled("-w", tmp_path / "stock.o")


def test_every_environment_plays_as_on_record_without_llvm(bare: BareMachine) -> None:
    pytest_ = (bare.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", ROOT / "tests")
    played = bare.run(*pytest_, ROOT / "tests/test_playthroughs.py", read=[ROOT / "tests"])
    assert played.returncode == 0, played.stdout
    assert f"{len(mlcb_gym.VERSIONS)} passed" in played.stdout


def test_it_trains_exports_and_evaluates_without_llvm(bare: BareMachine) -> None:
    training = ("--programs", "embedded/train/fft", "--validation", "embedded/validation/chacha20", "--iterations", "2")
    for command in (
        ("train", "posetrl", *training, "--output", "run"),
        ("export", "run/best", "policy", *ONE),
        ("evaluate", "posetrl", "--policy", "policy", *ONE, "--best-of", "1"),
    ):
        done = bare.run("mlcb", *command)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "left out, for they need LLVM's tools" in done.stdout
    assert "policy" in json.loads((bare.home / "evaluation/evaluation.json").read_text())["ratios"]["size"]


def test_demo_draws_its_picture_without_llvm(bare: BareMachine) -> None:
    done = bare.run("mlcb", "demo", "--minutes", "0.1", "-o", "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "there is no clang 22" in done.stdout
    assert (bare.home / "demo/demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("command", COMPILING, ids=" ".join)
def test_what_needs_a_compiler_says_so_in_one_line(bare: BareMachine, command: tuple[str, ...]) -> None:
    (bare.home / "own.c").write_text("int own(int x) { return x; }\n")
    done = bare.run("mlcb", *command)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert LLVM_LESS in done.stderr


def test_doctor_finds_nothing_missing_that_everything_needs(bare: BareMachine) -> None:
    done = bare.run("mlcb", "doctor", "--json")
    missing = {each["name"]: each["install"] for each in json.loads(done.stdout) if not each["ok"]}
    assert done.returncode == 0
    assert LLVM_LESS in missing["clang"]
    assert {"worker", "torch", "programs: embedded", "programs: loops"}.isdisjoint(missing)


TIMED = """
import gymnasium, mlcb_gym
env = gymnasium.make("LoopDistribution-v0", programs="loops/train/mixed_division", reward="time")
_, info = env.reset(seed=1)
ended = False
while not ended:
    _, reward, terminated, truncated, info = env.step(env.unwrapped.action_space.sample(mask=info["action_mask"]))
    ended = terminated or truncated
print(info["seconds"] > 0)
env.close()
"""


def test_kernel_is_compiled_and_timed_inside_the_worker(bare: BareMachine) -> None:
    done = bare.run(bare.python, "-c", TIMED)
    assert done.stdout == "True\n", done.stderr


def test_sdist_has_every_source_and_the_headers_that_no_package_has(wheel: Path) -> None:
    with tarfile.open(wheel.with_name(f"mlcb_gym-{mlcb_gym.__version__}.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = ("git", "ls-files", "native", "mlcb_gym", "CMakeLists.txt", "pyproject.toml", "LICENSE")
    tracked = subprocess.run(sources, cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(tracked.stdout.split()) - names == set()
    assert ".deps/onnxruntime/include/onnxruntime_c_api.h" in names
