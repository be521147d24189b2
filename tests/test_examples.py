# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples, built from an installed copy outside the tree, as a stranger would."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.policies import shipped
from mlcb_gym.session.objects import object_size

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
BUILD = ROOT / "build" / "tests"  # as `make test-native` leaves it: what is built there is not built again
OPTIONS = ["-DMLCB_TESTS=ON", "-DMLCB_LLVM=OFF", "-DMLCB_PYTHON=OFF", f"-DPython_EXECUTABLE={sys.executable}"]
UNROLLED = ["loop 0: unroll by 4", "loop 1: unroll by 8", "loop 2: unroll by 1", "loop 3: unroll by 8", "loop 4: unroll by 1"]


def run(*command: object, timeout: float = 300, **options: Any) -> str:
    words = [str(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed copy."""
    installed = tmp_path_factory.mktemp("mlcb") / "prefix"
    run("cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, *OPTIONS)
    run("cmake", "--build", BUILD, "--target", "mlcb_core", "mlcb_c")
    run("cmake", "--install", BUILD, "--component", "development", "--prefix", installed)
    return installed


@pytest.fixture
def build(prefix: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Builds an example in a folder of its own."""

    def build_example(name: str) -> Path:
        source = tmp_path / name
        shutil.copytree(EXAMPLES / name, source)
        run("cmake", "-G", "Ninja", "-S", source, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_FLAGS=-Wall -Werror")
        run("cmake", "--build", tmp_path / "build")
        return tmp_path / "build"

    return build_example


def serve(*arguments: object, **options: Any) -> list[str]:
    """What a compiler decides when it asks the model server."""
    return run(sys.executable, EXAMPLES / "server" / "server.py", *arguments, **options).splitlines()


@pytest.mark.parametrize(
    ("options", "says"), [((), "onnxruntime_c_api.h is not under /nowhere/include"), (("-DMLCB_ONNX=OFF",), "Build files have been written")]
)
def test_headers_of_onnx_runtime_are_needed_by_those_who_build_its_runner(options: tuple[str, ...], says: str, tmp_path: Path) -> None:
    named = os.environ | {"ONNXRUNTIME_ROOT": "/nowhere"}
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(tmp_path), "-DMLCB_LLVM=OFF", "-DMLCB_PYTHON=OFF", *options]
    done = subprocess.run(configure, capture_output=True, text=True, timeout=120, check=False, env=named)
    assert says in done.stdout + done.stderr


@pytest.mark.slow
def test_library_without_onnx_says_so(tmp_path: Path) -> None:
    run("cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path / "library", *OPTIONS, "-DMLCB_TESTS=OFF", "-DMLCB_ONNX=OFF")
    run("cmake", "--build", tmp_path / "library", timeout=1800)
    run("cmake", "--install", tmp_path / "library", "--component", "development", "--prefix", tmp_path / "prefix")
    run("cmake", "-G", "Ninja", "-S", EXAMPLES / "c", "-B", tmp_path / "c", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    run("cmake", "--build", tmp_path / "c")
    assert run(tmp_path / "c" / "unroll", "default:").startswith("loop 0")
    done = subprocess.run([tmp_path / "c" / "unroll", "onnx:policy"], capture_output=True, text=True, timeout=60, check=False)
    assert "'policy' is an ONNX model, which this build cannot run" in done.stderr


def test_compiler_in_c_asks_a_model_server(build: Callable[[str], Path]) -> None:
    unroll = build("c") / "unroll"
    assert serve(unroll) == UNROLLED
    assert run(unroll, "default:").splitlines()[1] == "loop 1: unroll by 2"


def test_compiler_in_cpp_asks_two_agents_of_a_model_server(build: Callable[[str], Path]) -> None:
    schedule = build("cpp") / "schedule"
    assert serve(schedule) == ["issue 0", "issue 2", "issue 1", "issue 3", "issue 4", "cycles 7.5"]
    assert run(schedule).splitlines() == [f"issue {i}" for i in range(5)]


def test_compiler_in_cpp_asks_over_grpc(build: Callable[[str], Path], prefix: Path) -> None:
    (module,) = prefix.rglob("libmlcb_grpc.so")
    environment = os.environ | {"MLCB_SERIALIZERS": str(module.parent)}
    advice = serve("--at", "grpc://127.0.0.1:0?serdes=json", build("cpp") / "schedule", env=environment)
    assert advice[-1] == "cycles 7.5"


def test_compiler_without_grpc_says_so(build: Callable[[str], Path]) -> None:
    done = subprocess.run([build("cpp") / "schedule", "grpc://127.0.0.1:1"], capture_output=True, text=True, timeout=60, check=False)
    assert "gRPC is needed: there is no libmlcb_grpc.so beside" in done.stderr


def test_plain_model_answers_a_compiler_in_c(build: Callable[[str], Path], tmp_path: Path) -> None:
    run(sys.executable, EXAMPLES / "plain_model" / "make_model.py", tmp_path / "cost.onnx")
    assert run(build("plain_model") / "cost", f"onnx:{tmp_path}/cost.onnx") == "15 cycles\n"


def test_runner_and_serializer_of_a_stranger_are_found_by_their_names(build: Callable[[str], Path], tmp_path: Path) -> None:
    for end in (".in", ".out"):
        os.mkfifo(f"{tmp_path}/channel{end}")
    assert run(build("extending") / "extending", tmp_path / "channel") == "fixed: 3\npipe: 1\n"


def test_pkg_config_says_how_to_compile_and_link(prefix: Path, tmp_path: Path) -> None:
    (config,) = prefix.rglob("mlcb.pc")
    flags = run("pkg-config", "--cflags", "--libs", "mlcb", env={**os.environ, "PKG_CONFIG_PATH": str(config.parent)}).split()
    library = config.parent.parent
    run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", EXAMPLES / "c" / "unroll.c", "-o", tmp_path / "unroll", *flags, f"-Wl,-rpath,{library}")
    assert run(tmp_path / "unroll").count("\n") == 5


def test_library_shows_the_c_interface_alone(prefix: Path) -> None:
    (library,) = prefix.rglob("libmlcb.so")
    symbols = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()]
    assert "mlcb_open" in symbols
    assert [name for name in symbols if not name.startswith("mlcb_")] == []


def test_every_installed_header_stands_alone(prefix: Path) -> None:
    include = prefix / "include"
    headers = sorted(path.relative_to(include) for path in include.rglob("*.h"))
    source = "".join(f"#include <{header}>\n" for header in headers)
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{include}", f"-I{include}/mlcb"]
    run("c++", *flags, "-fsyntax-only", "-x", "c++", "-", input=source)
    assert Path("mlcb/runner/ModelRunner.h") in headers


def test_tool_that_links_llvm_asks_the_policies_of_its_command_line(tmp_path: Path) -> None:
    llvm = Path(toolchain.tool("opt")).parents[1]
    run("cmake", "-G", "Ninja", "-S", EXAMPLES / "llvm_tool", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={llvm}")
    run("cmake", "--build", tmp_path)
    (program,) = resolve("embedded/test/aes")
    command = [tmp_path / "llvm_tool", toolchain.plugin(), program.bitcode]
    stock, decided = tmp_path / "stock.o", tmp_path / "decided.o"
    run(*command, stock)
    run(*command, decided, f"-mlcb-runner=onnx:{shipped()['function_size']}")
    assert object_size(decided) < object_size(stock)
    refused = subprocess.run([*command, decided, "-mlcb-runner=onnx:/nowhere"], capture_output=True, text=True, timeout=60)
    assert (refused.returncode, refused.stderr) == (1, "error: mlcb: /nowhere/policy.json: No such file or directory\n")
