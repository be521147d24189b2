# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy inside stock opt and clang: it decides as in the environment, and what is wrong with it is one line and no output."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.session import WorkerSession
from mlcb_gym.session.objects import object_size
from tests.support.deployment import CLANG, OPT, PROGRAMS, assert_refused, make_env, make_policy, opt, run

OPTNONE = """
__attribute__((optnone, noinline)) int plain(int x) { int twice = x + x; return twice; }
int tuned(int x) { int thrice = plain(x) + x; return thrice; }
"""


@pytest.fixture(scope="module")
def env(worker: WorkerSession) -> PosetRLEnv:
    return make_env(worker)


@pytest.fixture(scope="module")
def policy(env: PosetRLEnv, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_policy(env, tmp_path_factory.mktemp("deployment") / "policy", seed=1)


@pytest.fixture
def program() -> Program:
    return resolve(PROGRAMS[1])[0]


def final_size(env: PosetRLEnv, policy: Path, program: Program) -> float:
    """The size that the environment measures at the end of the policy's episode."""
    decide = OnnxPolicy(policy)
    observation, _ = env.reset(options={"program": program})
    ended = False
    while not ended:
        observation, _, ended, _, info = env.step(int(decide.advice(observation)))
    return info["size"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_object_of_clang_is_as_large_as_the_environment_measured(env: PosetRLEnv, policy: Path, name: str, tmp_path: Path) -> None:
    (program,) = resolve(name)
    write_clang_config(tmp_path / "mlcb.cfg", [policy])
    done = run(CLANG, f"--config={tmp_path}/mlcb.cfg", "-w", "-Oz", "-c", program.bitcode, "-o", tmp_path / "out.o")
    assert (done.returncode, done.stderr) == (0, "")
    assert object_size(tmp_path / "out.o") == final_size(env, policy, program)


@pytest.mark.parametrize("start", ["unoptimized", "Oz"])
def test_opt_decides_as_the_environment_does(worker: WorkerSession, start: str, program: Program, tmp_path: Path) -> None:
    env = make_env(worker, start=start, max_steps=3)
    policy = make_policy(env, tmp_path / "policy", seed=2)
    assert opt(program, tmp_path / "out.bc", f"-mlcb-runner=onnx:{policy}").returncode == 0
    run(CLANG, "-w", "-Oz", "-Xclang", "-disable-llvm-passes", "-c", tmp_path / "out.bc", "-o", tmp_path / "out.o")
    assert object_size(tmp_path / "out.o") == final_size(env, policy, program)


@pytest.mark.parametrize("name", PROGRAMS)
def test_oz_is_measured_as_clang_compiles_it(env: PosetRLEnv, name: str, tmp_path: Path) -> None:
    (program,) = resolve(name)
    run(CLANG, "-w", "-Oz", "-c", program.bitcode, "-o", tmp_path / "out.o")
    assert object_size(tmp_path / "out.o") == env.reset(options={"program": program})[1]["size_oz"]


@pytest.fixture
def optnone(tmp_path: Path) -> Program:
    (tmp_path / "optnone.c").write_text(OPTNONE)
    return resolve(tmp_path / "optnone.c")[0]


def test_optnone_function_keeps_its_allocas(optnone: Program, tmp_path: Path) -> None:
    assert opt(optnone, tmp_path / "out.bc", "-mlcb-runner=default:").returncode == 0
    text = run(toolchain.tool("llvm-dis"), tmp_path / "out.bc", "-o", "-").stdout
    plain, tuned = text.split("define ")[1:]
    assert (plain.count("alloca"), tuned.count("alloca")) == (2, 0)


def test_optnone_function_is_measured_as_clang_compiles_it(worker: WorkerSession, optnone: Program, tmp_path: Path) -> None:
    env = make_env(worker, programs=[optnone], actions=["default<Oz>"])
    run(CLANG, "-w", "-Oz", "-c", optnone.bitcode, "-o", tmp_path / "out.o")
    _, first = env.reset()
    *_, last = env.step(0)
    assert object_size(tmp_path / "out.o") == first["size_oz"] == last["size"]


def test_default_runner_is_oz(program: Program, tmp_path: Path) -> None:
    assert opt(program, tmp_path / "ours.bc", "-mlcb-runner=default:").returncode == 0
    run(CLANG, "-w", "-Oz", "-emit-llvm", "-c", program.bitcode, "-o", tmp_path / "clang.bc")
    ours, clangs = (run(toolchain.tool("llvm-dis"), tmp_path / f"{which}.bc", "-o", "-").stdout for which in ("ours", "clang"))
    assert ours.split("\n", 1)[1] == clangs.split("\n", 1)[1]


def test_guard_keeps_oz_where_the_policy_is_worse(worker: WorkerSession, program: Program, tmp_path: Path) -> None:
    policy = make_policy(make_env(worker, actions=["function(mem2reg)"], max_steps=1), tmp_path / "policy", seed=1)
    write_clang_config(tmp_path / "mlcb.cfg", [policy], guard=True)
    guarded = run(CLANG, f"--config={tmp_path}/mlcb.cfg", "-w", "-Oz", "-Rpass=mlcb", "-c", program.bitcode, "-o", tmp_path / "guarded.o")
    run(CLANG, "-w", "-Oz", "-c", program.bitcode, "-o", tmp_path / "oz.o")
    assert "kept: default<Oz>" in guarded.stderr
    assert (tmp_path / "guarded.o").read_bytes() == (tmp_path / "oz.o").read_bytes()


def test_guard_keeps_the_policy_where_it_is_as_small(worker: WorkerSession, program: Program, tmp_path: Path) -> None:
    policy = make_policy(make_env(worker, actions=["default<Oz>"], max_steps=1), tmp_path / "policy", seed=1)
    done = opt(program, tmp_path / "out.bc", f"-mlcb-runner=onnx:{policy}", "-mlcb-guard", "-pass-remarks=mlcb")
    assert "kept: posetrl" in done.stderr


def test_plugin_without_a_policy_changes_nothing(program: Program, tmp_path: Path) -> None:
    run(CLANG, "-w", "-Oz", "-c", program.bitcode, "-o", tmp_path / "plain.o")
    run(CLANG, f"-fpass-plugin={toolchain.plugin()}", "-w", "-Oz", "-c", program.bitcode, "-o", tmp_path / "plugin.o")
    assert (tmp_path / "plain.o").read_bytes() == (tmp_path / "plugin.o").read_bytes()


def edited(policy: Path, **changes: object) -> None:
    path = policy / "policy.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def with_vocabulary(policy: Path) -> None:
    spec = json.loads((policy / "policy.json").read_text())
    edited(policy, parameters=spec["parameters"] | {"vocabulary": "0" * 32})


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no manifest": (lambda policy: (policy / "policy.json").unlink(), "policy.json: No such file"),
    "no model": (lambda policy: (policy / "orderer.onnx").unlink(), "orderer.onnx"),
    "corrupt manifest": (lambda policy: (policy / "policy.json").write_text("{"), "not a JSON object"),
    "corrupt model": (lambda policy: (policy / "orderer.onnx").write_bytes(b"onnx"), "orderer.onnx"),
    "other task": (lambda policy: edited(policy, task="inlining"), "task 'inlining'"),
    "other spec": (lambda policy: edited(policy, digest="0" * 32), "posetrl"),
    "other vocabulary": (with_vocabulary, "vocabulary"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("compiler", ["opt", "clang"])
def test_bad_policy_is_one_line_and_no_output(policy: Path, program: Program, damage: str, compiler: str, tmp_path: Path) -> None:
    shutil.copytree(policy, tmp_path / "policy")
    write_clang_config(tmp_path / "mlcb.cfg", [tmp_path / "policy"])
    apply, expected = DAMAGE[damage]
    apply(tmp_path / "policy")
    if compiler == "opt":
        done = opt(program, tmp_path / "out", f"-mlcb-runner=onnx:{tmp_path}/policy")
    else:
        done = run(CLANG, f"--config={tmp_path}/mlcb.cfg", "-w", "-Oz", "-c", program.bitcode, "-o", tmp_path / "out")
    assert_refused(done, expected, tmp_path / "out")


def test_task_without_a_policy_is_an_error(program: Program, tmp_path: Path) -> None:
    done = opt(program, tmp_path / "out.bc")
    assert (done.returncode, done.stderr) == (1, "error: mlcb: posetrl has no policy: expected -mlcb-runner=onnx:FOLDER\n")


HOSTED = (OPT, "-load-pass-plugin", toolchain.plugin(), f"-mlcb-runner=onnx:{shipped()['posetrl']}")


def test_passes_behind_the_pipeline_run(program: Program, tmp_path: Path) -> None:
    done = run(*HOSTED, "-passes=default<Oz>,instcombine", "-debug-pass-manager", program.bitcode, "-o", tmp_path / "out.bc")
    assert re.findall(r"^(\w+) pass: InstCombinePass", done.stderr, re.MULTILINE)[-1] == "Running"


ENDED = """
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static void *end(void *unused) { usleep(5000); kill(getpid(), SIGXCPU); return unused; }
static void forked(void) { pthread_t thread; pthread_create(&thread, 0, end, 0); }
__attribute__((constructor)) static void begin(void) { pthread_atfork(0, 0, forked); }
"""


def test_trial_that_is_ended_leaves_the_output_alone(program: Program, tmp_path: Path) -> None:
    (tmp_path / "ended.c").write_text(ENDED)
    run(CLANG, "-shared", "-fPIC", tmp_path / "ended.c", "-o", tmp_path / "ended.so")
    guarded = (*HOSTED, "-mlcb-guard", "-passes=default<Oz>", program.bitcode, "-o", tmp_path / "out.bc")
    done = run("env", f"LD_PRELOAD={tmp_path}/ended.so", *guarded)
    assert done.returncode == 0
    assert (tmp_path / "out.bc").stat().st_size > 0


def test_host_of_another_version_is_refused(program: Program, tmp_path: Path) -> None:
    other = tmp_path / "other.c"
    other.write_text("void LLVMGetVersion(unsigned *a, unsigned *b, unsigned *c) { *a = 21; *b = 1; *c = 0; }\n")
    run(CLANG, "-shared", "-fPIC", other, "-o", tmp_path / "other.so")
    done = run("env", f"LD_PRELOAD={tmp_path}/other.so", OPT, "-load-pass-plugin", toolchain.plugin(), "-passes=posetrl", program.bitcode)
    assert done.returncode == 1
    assert done.stderr == "mlcb: this plugin is built for LLVM 22.1, the tool that loads it is LLVM 21.1\n"


def test_same_build_gives_the_same_objects(program: Program, tmp_path: Path) -> None:
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()["function_posetrl"], shipped()["function_size"]], candidates=3, jobs=2)
    objects = []
    for name in ("first.o", "second.o"):
        assert run(CLANG, f"--config={config}", "-Oz", "-c", program.bitcode, "-o", tmp_path / name).returncode == 0
        objects.append((tmp_path / name).read_bytes())
    assert objects[0] == objects[1]
