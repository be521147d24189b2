# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Register allocation by four agents where something is wrong or rare: a peer that goes, another target, code that constrains registers."""

import json
import subprocess
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mlcb_gym import toolchain
from mlcb_gym.agents.architecture import model_config
from mlcb_gym.agents.evolved import Evolved
from mlcb_gym.agents.team import Team
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.rl4real import RL4ReAlEnv
from mlcb_gym.errors import MlcbError
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import export_policy, write_policy
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy, in_process
from mlcb_gym.session import ModelServer, WorkerSession
from mlcb_gym.spec import MASK
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment
from tests.support.allocation import CLANG, allocator, clang_flags, of_code_generation, stock
from tests.support.asking import SECONDS, compile_asking, with_policy
from tests.support.known_output import CSMITH_FLAGS, OUTPUTS, compile_, csmith, run

DECIDERS = ("heuristic", "optimum", "first", "last", "random:1", "random:2")
LEVELS = ("-O1", "-O2")
IS_ELSEWHERE = "the policy for rl4real was taught for x86_64, and is asked for aarch64, where LLVM decides"
RARE = {
    "asm": """
    static long mix(long a, long b) { long high; __asm__("imul %%rdx" : "=d"(high), "+a"(a) : "0"(b) : "cc"); return a ^ high; }
    static long shift(long a, char by) { __asm__ volatile("rol %%cl, %0" : "+r"(a) : "c"(by) : "cc", "rbx", "r12", "r13", "r14", "r15"); return a; }
    int main(void) {
      long sum = 1;
      for (int i = 0; i < 50; i++) sum = shift(sum * 3 + mix(sum, i), i & 7) + i;
      printf("%ld\\n", sum);
    }""",
    "asm goto": """
    static int odd(int x) { __asm__ goto("test $1, %0\\n\\tjnz %l1" : : "r"(x) : "cc" : yes); return 0; yes: return 1; }
    int main(void) {
      int sum = 0, a = 3, b = 5, c = 7;
      for (int i = 0; i < 50; i++) { a += odd(b) * c; b ^= a + i; c += odd(a ^ c) - b; sum += odd(i) * a + b - c; }
      printf("%d\\n", sum);
    }""",
    "setjmp": """
    #include <setjmp.h>
    static jmp_buf at;
    __attribute__((noinline)) static void leap(int i) { if (i % 3 == 0) longjmp(at, i + 1); }
    int main(void) {
      volatile int sum = 0;
      for (volatile int i = 0; i < 30; i++) {
        int a = i * 3, b = a ^ 5, got = setjmp(at);
        if (got) { sum += got * 2; continue; }
        leap(i);
        sum += a * b;
      }
      printf("%d\\n", sum);
    }""",
    "variable length": """
    __attribute__((noinline)) static int of(int n) {
      int here[n], sum = 0;
      for (int i = 0; i < n; i++) here[i] = i * n;
      for (int i = 0; i < n; i++) sum += here[(i * 7) % n] ^ sum;
      return sum;
    }
    int main(void) { int sum = 0; for (int n = 1; n < 40; n++) sum = sum * 3 + of(n); printf("%d\\n", sum); }""",
}
"""Programs whose code constrains registers or control flow in ways of their own."""


class TestPeersThatGo:
    def test_compiler_whose_learner_goes_in_the_middle_writes_no_object(self, tmp_path: Path) -> None:
        base = tmp_path / "channel"

        def interrupt() -> None:
            raise KeyboardInterrupt

        with ModelServer(f"pipe:{base}", only="rl4real") as server:
            compiler = self.start(base, tmp_path)
            with pytest.raises(KeyboardInterrupt):
                server.answer(self.heuristic_until(interrupt), seconds=SECONDS)
        _, said = compiler.communicate(timeout=SECONDS)
        assert compiler.returncode != 0
        assert said == "error: mlcb: the learner ended the episode\n1 error generated.\n"
        assert not (tmp_path / "program.o").exists()

    def test_learner_whose_compiler_is_killed_in_the_middle_is_told(self, tmp_path: Path) -> None:
        base = tmp_path / "channel"
        with ModelServer(f"pipe:{base}", only="rl4real") as server:
            compiler = self.start(base, tmp_path)
            with pytest.raises(MlcbError) as told:
                server.answer(self.heuristic_until(compiler.kill), seconds=SECONDS)
        assert "\n" not in str(told.value)
        compiler.communicate(timeout=SECONDS)
        assert not (tmp_path / "program.o").exists()

    @staticmethod
    def heuristic_until(something_happens: Callable[[], None]) -> Callable[[str, Any], int]:
        """The heuristic's answers; at the fifth question something happens."""
        questions = count(1)

        def model(agent: str, tensors: Any) -> int:
            if next(questions) == 5:
                something_happens()
            return int(tensors["heuristic"].item())

        return model

    @staticmethod
    def start(base: Path, folder: Path) -> "subprocess.Popen[str]":
        (program,) = resolve("embedded/validation/chacha20")
        command = with_policy(stock("clang", program.bitcode, folder / "program.o"), f"pipe:{base}")
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("ways", [{}, {"guard": True}, {"candidates": 4}], ids=["alone", "guarded", "candidates"])
def test_policy_for_another_target_says_so_and_the_object_is_greedys(ways: dict[str, Any], for_arm: list[str | Path], tmp_path: Path) -> None:
    config = write_clang_config(tmp_path / "mlcb.cfg", [shipped()["rl4real"]], **ways)
    done = subprocess.run([*for_arm, f"--config={config}", "-o", tmp_path / "f.o"], check=True, capture_output=True, text=True)
    assert done.stderr.count(IS_ELSEWHERE) == 1
    subprocess.run([*for_arm, "-o", tmp_path / "greedy.o"], check=True)
    subprocess.run([*for_arm, *clang_flags(allocator()), "-o", tmp_path / "own.o"], check=True)
    assert (tmp_path / "f.o").read_bytes() == (tmp_path / "greedy.o").read_bytes() != (tmp_path / "own.o").read_bytes()


def test_policy_for_another_target_does_not_decide_in_opt_either(for_arm: list[str | Path], tmp_path: Path) -> None:
    subprocess.run([*for_arm, "-emit-llvm", "-o", tmp_path / "f.bc"], check=True)
    passes = ["-passes=rl4real", f"-mlcb-runner=onnx:{shipped()['rl4real']}", "-pass-remarks=mlcb", "-disable-output"]
    command: list[str | Path] = [toolchain.tool("opt"), f"-load-pass-plugin={toolchain.plugin()}", *passes, tmp_path / "f.bc"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert IS_ELSEWHERE in done.stderr
    assert "decisions" not in done.stderr


def test_learner_decides_for_another_target(for_arm: list[str | Path], tmp_path: Path) -> None:
    asked = []

    def model(agent: str, tensors: Any) -> int:
        asked.append(agent)
        return int(np.flatnonzero(tensors[MASK])[-1])

    compile_asking([*for_arm, "-mllvm", "-verify-machineinstrs", "-o", tmp_path / "f.o"], "rl4real", model, tmp_path)
    assert {"selector", "colourer"} <= set(asked)


@pytest.fixture
def for_arm(tmp_path: Path) -> list[str | Path]:
    """Compiles a function for AArch64."""
    (tmp_path / "f.c").write_text("int g(int); int f(int a, int b, int c) { return g(a) * b + g(c) * a - g(b); }")
    return [CLANG, "--target=aarch64-linux-gnu", "-O2", "-c", tmp_path / "f.c"]


def test_target_without_a_code_generator_is_named(tmp_path: Path) -> None:
    (tmp_path / "f.ll").write_text('target triple = "no-such-machine"\ndefine i32 @f(i32 %x) {\n  ret i32 %x\n}\n')
    with pytest.raises(MlcbError, match="no-such-machine"), closing(RL4ReAlEnv(programs=str(tmp_path / "f.ll"))) as env:
        env.reset(seed=1)


@pytest.mark.parametrize("decider", DECIDERS)
@pytest.mark.parametrize("rare", sorted(RARE))
def test_code_that_constrains_registers_prints_the_same(rare: str, decider: str, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(f"#include <stdio.h>\n{RARE[rare]}")
    flags = clang_flags(allocator(decider, splits=8))
    compile_(tmp_path / "program.c", "-O0", "-fwrapv", output=tmp_path / "expected")
    for level in LEVELS:
        compile_(tmp_path / "program.c", level, "-fwrapv", *flags, output=tmp_path / "program")
        assert run(tmp_path / "program") == run(tmp_path / "expected")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_drawn(tmp_path_factory.mktemp("drawn") / "rl4real")


def write_drawn(folder: Path, **arguments: Any) -> Path:
    """A policy of weights that were drawn at random: it decides unlike the heuristic, by what it sees."""
    torch.manual_seed(1)
    config = model_config(RL4ReAlEnv, recipe("es", {"network": {"hidden": [8]}}).network)
    with closing(RL4ReAlEnv(programs="embedded/train/fft", **arguments)) as env:
        module = Evolved(observation_space=env.observation_space, action_space=env.action_space, model_config=config)
        for weights in module.parameters():
            torch.nn.init.normal_(weights)
        assert isinstance(module.network, Team)
        return write_policy(dict(module.network.items()), folder, spec=json.loads(env.task_spec.json), trained={}, results={})


def write_trained(folder: Path, **arguments: Any) -> Path:
    """A policy of one large step of evolution strategies from the heuristic."""
    es = recipe("es", {"pairs": 4, "sigma": 1.0, "programs": 1, "num_envs": 2, "lr": 1.0, "statistics_episodes": 2})
    environment, validation = Environment("RL4ReAl-v0", {"programs": "embedded/train/fft", **arguments}), resolve("embedded/train/fft")
    train(environment, recipe=es, validation=validation, output=folder / "run", budget=Budget(iterations=1))
    return export_policy(folder / "run" / "last", folder / "rl4real")


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Policies that decide by what they see, drawn and trained, without and with splits."""
    return [write(tmp_path_factory.mktemp("policy") / "rl4real", splits=splits) for write in (write_drawn, write_trained) for splits in (0, 8)]


@pytest.mark.slow
def test_decisions_are_the_same_in_python_and_in_process_on_many_functions(drawn: Path, worker: WorkerSession) -> None:
    policy, functions = OnnxPolicy(drawn), 0
    programs = [f"embedded/{split}" for split in ("train", "validation", "test")]
    with closing(RL4ReAlEnv(programs=programs, session=worker, metrics=("function",), **policy.env_arguments)) as env:
        for program in env.programs:
            seen, answers = [], []
            env.reset(options={"program": program})
            ended = False
            while not ended:
                seen.append(deepcopy(env.observation))
                answers.append(policy.advice(env.observation))
                *_, ended, _, info = env.step(env.action(answers[-1]))
            assert "error" not in info
            functions += int(info["function"])
            assert in_process(f"onnx:{drawn}", seen) == answers
    assert functions > 200


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("index", range(200))
def test_csmith_program_prints_the_same_by_a_policy(index: int, level: str, policies: list[Path], tmp_path: Path) -> None:
    source, expected = csmith(index, tmp_path)
    for policy in [*policies, shipped()["rl4real"]]:
        compile_(source, level, *CSMITH_FLAGS, *flags_of(policy, tmp_path), output=tmp_path / "program")
        assert run(tmp_path / "program") == expected, policy


def test_embedded_program_prints_the_same_by_a_policy(drawn: Path, tmp_path: Path) -> None:
    prints_the_same("train/fft", drawn, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_every_embedded_program_prints_the_same_by_a_policy(name: str, drawn: Path, tmp_path: Path) -> None:
    for policy in (drawn, shipped()["rl4real"]):
        prints_the_same(name, policy, tmp_path)


def prints_the_same(name: str, policy: Path, folder: Path) -> None:
    (source,) = corpora.embedded(f"embedded/{name}")
    for level in LEVELS:
        compile_(source, level, *flags_of(policy, folder), "-lm", output=folder / "program")
        assert run(folder / "program") == OUTPUTS[name]


def flags_of(policy: Path, folder: Path) -> list[str]:
    """The flags of clang to allocate by a policy, and to verify that."""
    return [f"--config={write_clang_config(folder / 'mlcb.cfg', [policy])}", *of_code_generation(["-verify-machineinstrs"])]
