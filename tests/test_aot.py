# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy compiled ahead of time: it is one file, decides as ONNX Runtime does, and what cannot be compiled or loaded is one sentence."""

import ctypes
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mlcb_gym import _native, toolchain
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.errors import PolicyError
from mlcb_gym.export import aot, codegen
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.codegen import FLAGS, SHARED, include, sizes
from mlcb_gym.export.export import write_policy
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.rollout.onnx_policy import in_process
from mlcb_gym.rollout.random_policy import random_observations
from mlcb_gym.session import WorkerSession
from mlcb_gym.session.objects import object_size
from tests.support.command_line import assert_one_line, mlcb
from tests.support.deployment import assert_refused, make_env, opt, run
from tests.support.policies import custom_operators, write_by_hand

PROGRAMS = ["embedded/test/aes", "embedded/test/btree", "embedded/test/nbody"]
POSETRL = shipped()["posetrl"]

#: Two agents, one that picks and one that judges; not a task of this package.
TASK = {
    "task": "schedule",
    "agents": [
        {
            "name": "picker",
            "inputs": [
                {"name": "unused", "dtype": "int32", "shape": [7]},
                {"name": "latency", "dtype": "float32", "shape": [5]},
                {"name": "ready", "dtype": "int8", "shape": [5], "role": "mask"},
            ],
            "advice": {"kind": "argmax", "name": "instruction", "choices": 5},
        },
        {
            "name": "judge",
            "inputs": [{"name": "order", "dtype": "int64", "shape": [5]}, {"name": "last", "dtype": "bool"}],
            "advice": {"kind": "value", "name": "cycles"},
        },
    ],
}


class Picker(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 5)

    def forward(self, tensors: dict[str, Tensor]) -> Tensor:
        return self.layer(tensors["latency"])


class Judge(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 1)

    def forward(self, tensors: dict[str, Tensor]) -> Tensor:
        return self.layer(torch.cat([tensors["order"].float(), tensors["last"].float()], dim=1))


def bound(task: Mapping[str, object]) -> dict[str, object]:
    with closing(_native.Compiler.open("default:", json.dumps(task))) as compiler:
        return json.loads(compiler.spec)


@pytest.fixture(scope="module")
def networks() -> dict[str, nn.Module]:
    torch.manual_seed(1)
    return {"judge": Judge().eval(), "picker": Picker().eval()}


@pytest.fixture(scope="module")
def schedule(networks: dict[str, nn.Module], tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = bound(TASK) | {"parameters": {}}
    return write_policy(networks, tmp_path_factory.mktemp("schedule") / "policy", spec=spec, trained={}, results={})


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The policy that ships, for any x86-64."""
    return compile_policy(POSETRL, tmp_path_factory.mktemp("aot") / "policy.so", cpu="baseline")


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    """A policy with an operator of its own."""
    return custom_operators(write_by_hand(tmp_path / "twice", [1], "Twice"))


@pytest.fixture(params=["onnx", "aot"])
def uri(request: pytest.FixtureRequest, schedule: Path, tmp_path: Path) -> str:
    return f"onnx:{schedule}" if request.param == "onnx" else f"aot:{compile_policy(schedule, tmp_path / 'policy.so')}"


def test_shipped_policy_decides_as_in_onnx_runtime(compiled: Path, worker: WorkerSession) -> None:
    parameters = json.loads((POSETRL / "policy.json").read_text())["parameters"]
    arguments = {name: parameters[name] for name in ("actions", "start", "max_steps", "unique", "observation")}
    env = make_env(worker, programs=PROGRAMS, **arguments)
    seen = batch(random_observations([env], env.programs, 2, 1))
    observations = [{name: tensor[i].numpy() for name, tensor in seen.items()} for i in range(len(seen["progress"]))]
    assert in_process(f"aot:{compiled}", observations) == in_process(f"onnx:{POSETRL}", observations)


@pytest.mark.parametrize("name", PROGRAMS)
def test_opt_makes_the_same_module_with_either(compiled: Path, name: str, tmp_path: Path) -> None:
    (program,) = resolve(name)
    for which, uri in (("onnx", f"onnx:{POSETRL}"), ("aot", f"aot:{compiled}")):
        assert opt(program, tmp_path / which, f"-mlcb-runner={uri}").returncode == 0
    assert (tmp_path / "onnx").read_bytes() == (tmp_path / "aot").read_bytes()


def test_clang_makes_the_same_object_with_either(compiled: Path, tmp_path: Path) -> None:
    (program,) = resolve(PROGRAMS[0])
    for which, policy in (("onnx", POSETRL), ("aot", compiled)):
        write_clang_config(tmp_path / f"{which}.cfg", [policy])
        done = run(toolchain.tool("clang"), f"--config={tmp_path}/{which}.cfg", "-w", "-Oz", "-c", program.bitcode, "-o", tmp_path / which)
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "onnx").read_bytes() == (tmp_path / "aot").read_bytes()
    assert object_size(tmp_path / "aot") > 0


def test_compiled_policy_needs_the_c_library_alone(compiled: Path) -> None:
    listed = run(toolchain.tool("llvm-readelf"), "--needed-libs", compiled).stdout.split()
    assert [word for word in listed if ".so" in word] == ["libc.so.6", "libm.so.6"]
    symbols = run(toolchain.tool("llvm-nm"), "-D", "--defined-only", compiled).stdout.split()[2::3]
    assert symbols == ["mlcb_aot_policy_v2"]


def test_each_agent_has_its_own_model(uri: str, networks: dict[str, nn.Module]) -> None:
    latency, order = np.array([4, 1, 3, 1, 2], np.float32), np.array([0, 2, 1, 3, 4])
    with torch.inference_mode():
        logits = networks["picker"]({"latency": torch.from_numpy(latency)[None]})[0].numpy()
        cycles = networks["judge"]({"order": torch.from_numpy(order)[None], "last": torch.tensor([[True]])}).item()
    with closing(_native.Compiler.open(uri, json.dumps(TASK))) as compiler:
        for legal in ([1, 1, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 1]):
            mask = np.array(legal, np.int8)
            assert compiler.observe(0, {"latency": latency, "ready": mask}) == np.where(mask, logits, -np.inf).argmax()
            assert compiler.observe(1, {"order": order, "last": True}) == pytest.approx(cycles, rel=1e-5)


def test_policy_of_another_task_is_refused(uri: str) -> None:
    other = json.loads(json.dumps(TASK).replace('"shape": [7]', '"shape": [8]'))
    with pytest.raises(_native.SpecMismatch, match=r"unused: compiler sends int32\[8\], the policy expects int32\[7\]"):
        _native.Compiler.open(uri, json.dumps(other))


def test_input_that_varies_is_padded_to_the_next_size(tmp_path: Path) -> None:
    policy = write_by_hand(tmp_path / "policy", [{"at_most": 7}], "ReduceSum")
    compiled = compile_policy(policy, tmp_path / "policy.so")
    with closing(_native.Compiler.open(f"aot:{compiled}", (policy / "task.json").read_text())) as compiler:
        for length in (7, 3, 1, 4, 0, 2, 5, 6):
            assert compiler.observe(0, {"x": np.ones(length, np.float32)}) == length


def test_model_that_padding_changes_is_left_to_onnx_runtime(tmp_path: Path) -> None:
    policy = write_by_hand(tmp_path / "policy", [{"at_most": 7}], "ReduceMean")
    with pytest.raises(PolicyError, match=r"agent 'judge' gives other advice once it is compiled; deploy it with onnx:"):
        compile_policy(policy, tmp_path / "policy.so")
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]


def test_lengths_of_several_kinds_are_left_to_onnx_runtime() -> None:
    assert sizes(Path("a.onnx"), [{"shape": [{"at_most": 9}, 7]}, {"shape": []}]) == [2, 4, 8, 9]
    with pytest.raises(PolicyError, match=r"a.onnx: its inputs vary in lengths of 2 kinds, expected one; deploy it with onnx:"):
        sizes(Path("a.onnx"), [{"shape": [{"at_most": 9}]}, {"shape": [{"at_most": 7}]}])


ASINH = """
#include <AotMath.h>
void many(const float *x, float *y, long n) {
  for (long i = 0; i < n; i++)
    y[i] = asinhf(x[i]);
}
"""


def test_functions_of_compiled_models_are_those_of_the_c_library(tmp_path: Path) -> None:
    (tmp_path / "asinh.c").write_text(ASINH)
    flags = [*FLAGS, *SHARED, "-O2", "-shared", "-fvisibility=default", f"-I{include()}"]
    subprocess.run([toolchain.tool("clang"), *flags, tmp_path / "asinh.c", "-lm", "-o", tmp_path / "asinh.so"], check=True)
    finite = np.arange(0, 0x7F800000, 9973, dtype=np.int32).view(np.float32)
    x = np.concatenate([finite, -finite, np.array([np.inf, -np.inf, np.nan], np.float32)])
    y = np.empty_like(x)
    ctypes.CDLL(str(tmp_path / "asinh.so")).many(*(ctypes.c_void_p(array.ctypes.data) for array in (x, y)), ctypes.c_long(len(x)))
    np.testing.assert_allclose(y, np.arcsinh(x.astype(np.float64)), rtol=1e-6, atol=1e-44)


def test_operators_of_a_policys_own_are_left_to_onnx_runtime(twice: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"twice: operators of its own cannot be compiled; deploy it with onnx:"):
        compile_policy(twice, tmp_path / "policy.so")
    assert list(tmp_path.glob("policy.so*")) == []


def test_operator_that_is_not_compiled_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"emx-onnx-cgen cannot compile it \(.*RandomNormalLike\); deploy it with onnx:"):
        compile_policy(write_by_hand(tmp_path / "policy", [1], "RandomNormalLike"), tmp_path / "policy.so")
    assert list(tmp_path.glob("policy.so*")) == []


def test_policy_that_cannot_be_compiled_is_left_to_onnx_runtime_unless_told(tmp_path: Path) -> None:
    policy, made = write_by_hand(tmp_path / "policy", [1], "RandomNormalLike"), tmp_path / "mlcb.cfg"
    assert_one_line(mlcb("clang-config", policy, "--output", made, "--aot"), "RandomNormalLike); deploy it with onnx:")
    assert not made.exists()
    assert "not compiled ahead of time, ONNX Runtime decides: " in mlcb("clang-config", policy, "--output", made).stderr
    assert f"onnx:{policy.resolve()}" in made.read_text()


def test_other_cpu_than_there_is_is_refused_when_compiled(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"--cpu pentium: expected one of baseline"):
        compile_policy(POSETRL, tmp_path / "policy.so", cpu="pentium")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def damaged(path: Path) -> None:
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)


def foreign(path: Path) -> None:
    source = path.with_suffix(".c")
    source.write_text("int answer = 42;\n")
    subprocess.run([toolchain.tool("clang"), "-shared", "-fPIC", source, "-o", path], check=True)


def sealed_foreign(path: Path) -> None:
    foreign(path)
    path.write_bytes(path.read_bytes() + _native.aot_seal(path.read_bytes(), "baseline"))


def other_cpu(path: Path) -> None:
    contents = path.read_bytes()
    body = contents[: contents.rindex(b"\nmlcb-aot:")]
    path.write_bytes(body + _native.aot_seal(body, "x86-64-v9"))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "policy.so: No such file"),
    "empty": (lambda path: path.write_bytes(b""), "is no policy that `mlcb aot` compiled"),
    "truncated": (truncated, "is no policy that `mlcb aot` compiled, or has lost its end"),
    "damaged": (damaged, "is damaged"),
    "foreign": (foreign, "is no policy that `mlcb aot` compiled"),
    "sealed, foreign": (sealed_foreign, "has no symbol mlcb_aot_policy_v2"),
    "other CPU": (other_cpu, "is compiled for a CPU of level x86-64-v9, which this one is not"),
}


def test_cached_one_is_of_the_generator_that_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = set[Path]()
    monkeypatch.setattr(aot, "compile_policy", lambda folder, output, cpu: made.add(output))
    for version in "1", "2":
        monkeypatch.setattr(codegen, "version", lambda package, version=version: version)
        aot.compiled(POSETRL)
    assert len(made) == 2


@pytest.mark.parametrize("damage", DAMAGE)
def test_cached_one_that_is_not_whole_is_made_anew(compiled: Path, damage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[Path] = []

    def compile_policy(folder: Path, output: Path, *, cpu: str) -> Path:
        output.parent.mkdir(parents=True, exist_ok=True)
        body = compiled.read_bytes()[: -len(_native.aot_seal(b"", cpu))]
        output.write_bytes(body + _native.aot_seal(body, cpu))
        made.append(output)
        return output

    monkeypatch.setattr(aot, "compile_policy", compile_policy)
    assert aot.compiled(POSETRL) == aot.compiled(POSETRL)
    DAMAGE[damage][0](made[0])
    assert aot.compiled(POSETRL) == made[0]
    assert made == [made[0]] * 2


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("compiler", ["opt", "clang"])
def test_bad_file_is_one_line_and_no_output(compiled: Path, damage: str, compiler: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.so"
    policy.write_bytes(compiled.read_bytes())
    write_clang_config(tmp_path / "mlcb.cfg", [policy])
    apply, expected = DAMAGE[damage]
    apply(policy)
    (program,) = resolve(PROGRAMS[0])
    if compiler == "opt":
        done = opt(program, tmp_path / "out", f"-mlcb-runner=aot:{policy}")
    else:
        done = run(toolchain.tool("clang"), f"--config={tmp_path}/mlcb.cfg", "-w", "-Oz", "-c", program.bitcode, "-o", tmp_path / "out")
    assert_refused(done, expected, tmp_path / "out")


def test_operators_run_only_where_they_are_trusted(twice: Path, tmp_path: Path) -> None:
    with pytest.raises(_native.InvalidArgument, match=r"its custom_operators, operators\.so, are code: expected onnx:FOLDER\?trust=code"):
        _native.Compiler.open(f"onnx:{twice}", (twice / "task.json").read_text())
    with pytest.raises(_native.InvalidArgument, match="trust is 'all', expected code"):
        _native.Compiler.open(f"onnx:{twice}?trust=all")
    with pytest.raises(PolicyError, match=r"its custom_operators are code, .*: expected --trust"):
        write_clang_config(tmp_path / "mlcb.cfg", [twice])
    written = write_clang_config(tmp_path / "mlcb.cfg", [twice], trust=True)
    assert f"-mlcb-runner=onnx:{twice}?trust=code\n" in written.read_text()


def test_operators_of_the_policys_own_library_are_run(twice: Path) -> None:
    with closing(_native.Compiler.open(f"onnx:{twice}?trust=code", (twice / "task.json").read_text())) as compiler:
        assert compiler.observe(0, {"x": np.array([21], np.float32)}) == 42


def test_name_of_a_folder_trusts_nothing(twice: Path, tmp_path: Path) -> None:
    (tmp_path / "twice?trust=code").symlink_to(POSETRL)
    shutil.copytree(POSETRL, tmp_path / "other?trust=code")
    with pytest.raises(PolicyError, match=r"other\?trust=code: expected a path without '\?'"):
        write_clang_config(tmp_path / "mlcb.cfg", [tmp_path / "other?trust=code"])
    assert write_clang_config(tmp_path / "mlcb.cfg", [tmp_path / "twice?trust=code"]).read_text().count(f"onnx:{POSETRL}\n") == 1


def test_policy_without_its_operators_is_refused(twice: Path) -> None:
    (twice / "operators.so").unlink()
    with pytest.raises(_native.SystemError_, match=r"operators\.so: No such file"):
        _native.Compiler.open(f"onnx:{twice}?trust=code", (twice / "task.json").read_text())


def test_library_that_registers_no_operators_is_refused(twice: Path) -> None:
    foreign(twice / "operators.so")
    with pytest.raises(_native.InvalidArgument, match=r"operators\.so: .*RegisterCustomOps"):
        _native.Compiler.open(f"onnx:{twice}?trust=code", (twice / "task.json").read_text())


@pytest.mark.parametrize("name", ["../operators.so", "/tmp/operators.so", "..", "", 7])
def test_operators_are_a_file_of_the_policys_folder(twice: Path, name: object) -> None:
    manifest = json.loads((twice / "policy.json").read_text())
    (twice / "policy.json").write_text(json.dumps(manifest | {"custom_operators": name}))
    with pytest.raises(_native.InvalidArgument, match=r"'custom_operators' is .*, expected the name of a file beside it"):
        _native.Compiler.open(f"onnx:{twice}?trust=code", (twice / "task.json").read_text())


def test_operators_are_no_link_out_of_the_policys_folder(twice: Path, tmp_path: Path) -> None:
    (twice / "operators.so").rename(tmp_path / "elsewhere.so")
    (twice / "operators.so").symlink_to(tmp_path / "elsewhere.so")
    with pytest.raises(_native.InvalidArgument, match=r"is a link out of the policy's folder"):
        _native.Compiler.open(f"onnx:{twice}?trust=code", (twice / "task.json").read_text())
