# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A new task is four files; the one of `examples/task` is trained, searched, evaluated, exported and deployed by what every task has."""

import subprocess
import sys
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.errors import TaskError
from mlcb_gym.tools.new_task import write_task
from tests.support.command_line import mlcb

PROGRAMS = ["--programs", "embedded/train/fft", "--programs", "embedded/train/lz77"]
REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCB_TASKS", "examples.task")


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that two iterations of PPO trained."""
    folder = tmp_path_factory.mktemp("size_attributes")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MLCB_TASKS", "examples.task")
        options = ["--iterations", "2", "--validation", "embedded/validation/chacha20", "--set", "steps_per_iteration=64", "--set", "num_envs=2"]
        trained = mlcb("train", "size_attributes", "-o", folder / "run", *PROGRAMS, *options, "--set", "statistics_episodes=4")
        assert trained.returncode == 0, trained.stderr
        exported = mlcb("export", folder / "run" / "best", folder / "policy", "--programs", "embedded/validation/chacha20")
        assert exported.returncode == 0, exported.stderr
    return folder / "policy"


def test_four_files_in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "native/tasks").mkdir(parents=True)
    (tmp_path / "mlcb_gym").mkdir()
    (tmp_path / "mlcb_gym/__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    paths = ["native/tasks/loop_order.def", "native/llvm/tasks/loop_order/Episode.cpp", "mlcb_gym/envs/loop_order.py", "mlcb_gym/__init__.py"]
    assert [str(path) for path in write_task("loop_order")] == paths
    registered = Path(paths[-1]).read_text()
    assert registered == 'register("LoopOrder-v0", "mlcb_gym.envs.loop_order:LoopOrder")\n'


def test_example_is_what_was_written_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in write_task("size_attributes", Path("examples/task")):
        assert (REPOSITORY / path).exists()
        kept = set((REPOSITORY / path).read_text().splitlines()) & set(path.read_text().splitlines())
        assert len(kept) > len(set(path.read_text().splitlines())) / 2


def test_what_was_written_is_formatted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, source, environment, _ = write_task("loop_order", Path("loops"))
    style = f"--style=file:{REPOSITORY / '.clang-format'}"
    ruff: list[str | Path] = [Path(sys.executable).with_name("ruff"), "format", "--check", "--config", REPOSITORY / "pyproject.toml"]
    clang_format: list[str | Path] = ["clang-format-22", "--dry-run", "-Werror", style]
    for command in ([*ruff, environment], [*clang_format, source]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["Loops", "9lives", "a-b", ""])
def test_name_that_is_no_identifier_is_refused(name: str) -> None:
    with pytest.raises(TaskError, match="expected a name in lower case"):
        write_task(name, Path("folder"))


@pytest.mark.parametrize("name", ["default", "class"])
def test_keyword_is_no_name(name: str) -> None:
    with pytest.raises(TaskError, match=f"'{name}': a keyword of C\\+\\+ or Python"):
        write_task(name, Path("folder"))


def test_existing_file_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_task("loop_order", Path("mine"))
    with pytest.raises(TaskError, match="exists already"):
        write_task("loop_order", Path("mine"))


def test_example_conforms() -> None:
    done = mlcb("check", "size_attributes")
    assert (done.returncode, done.stdout) == (0, "SizeAttributes-v0: conforms\n"), done.stderr


def test_example_is_searched_and_learns_from_that(tmp_path: Path) -> None:
    searched = mlcb("search", "size_attributes", "-o", tmp_path / "decisions", *PROGRAMS, "--decisions", "4")
    assert searched.returncode == 0, searched.stderr
    validated = ["--validation", "embedded/validation/chacha20", "--iterations", "0"]
    (tmp_path / "run/checkpoints/000000").mkdir(parents=True)  # as a full disk may leave it
    trained = mlcb("train", "size_attributes", "-o", tmp_path / "run", "--decisions", tmp_path / "decisions", *PROGRAMS, *validated)
    assert trained.returncode == 0, trained.stderr
    assert trained.stdout.endswith("/000000-2 (the weights before the first update)\n")


def test_example_is_evaluated(policy: Path, tmp_path: Path) -> None:
    done = mlcb("evaluate", "size_attributes", "--policy", policy, "--programs", "embedded/test/aes", "-o", tmp_path, "--best-of", "2")
    assert done.returncode == 0, done.stderr
    assert all(row in done.stdout for row in ("policy", "always", "random, best of 2", "size / -Oz"))
    assert "guarded" not in done.stdout


def test_example_decides_in_clang(policy: Path, tmp_path: Path) -> None:
    assert mlcb("clang-config", policy, "-o", tmp_path / "mlcb.cfg").returncode == 0
    (program,) = resolve("embedded/test/aes")
    config = f"--config={tmp_path}/mlcb.cfg"
    subprocess.run([toolchain.tool("clang"), config, "-w", "-Oz", program.bitcode, "-lm", "-o", tmp_path / "aes"], check=True)
    subprocess.run([toolchain.tool("clang"), "-w", "-O0", program.bitcode, "-lm", "-o", tmp_path / "plain"], check=True)
    printed = [subprocess.run([tmp_path / name], check=True, capture_output=True).stdout for name in ("aes", "plain")]
    assert printed[0] == printed[1]


def test_missing_package_of_tasks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCB_TASKS", "missing_tasks")
    done = mlcb("check", "missing_task")
    assert done.stderr.startswith("mlcb: MLCB_TASKS=missing_tasks: no such package on Python's path"), done.stderr
    assert "'missing_task': expected one of" in done.stderr
    assert not mlcb("list").returncode


def test_import_that_a_package_of_tasks_misses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "importing_tasks.py").write_text("import nothing_like_that\n")
    monkeypatch.setenv("MLCB_TASKS", "importing_tasks")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = mlcb("list")
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'nothing_like_that'"


def test_example_is_imported_by_name_alone() -> None:
    code = "import gymnasium; print(gymnasium.make('examples.task:SizeAttributes-v0', session='worker:').unwrapped.task)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, timeout=60)
    assert done.stdout == "size_attributes\n", done.stderr
