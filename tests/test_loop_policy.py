# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two agents split loops by turns: in opt and clang, over a channel and in process."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcb_gym import _native, toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.loops.kernels import kernels, source
from mlcb_gym.errors import CompilerError, SessionLost
from mlcb_gym.policies import shipped
from mlcb_gym.session import ModelServer
from mlcb_gym.spec import TaskSpec, bind
from tests.support.asking import compile_asking, with_policy
from tests.support.known_output import OUTPUTS, compile_, run
from tests.support.loop_policies import write_policy
from tests.support.loops import STRICT, SUMS, splitting, sums

TASK = "loop_distribution"
O3 = (toolchain.tool("clang"), *STRICT, "-O3", "-c")

Tensors = Mapping[str, Any]
Question = tuple[str, Tensors]
Choose = Callable[[str, Tensors], int]


def first(tensors: Tensors) -> int:
    return int(np.flatnonzero(tensors["action_mask"])[0])


def never(agent: str, tensors: Tensors) -> int:
    return first(tensors)


def always(agent: str, tensors: Tensors) -> int:
    return first(tensors) if agent == "selector" else 1


def at_random(seed: int) -> Choose:
    rng = np.random.default_rng(seed)
    return lambda agent, tensors: int(rng.choice(np.flatnonzero(tensors["action_mask"])))


def asked(command: Sequence[str | Path], choose: Choose, folder: Path) -> list[Question]:
    """Runs a compiler that asks a server here; what it asked."""
    questions: list[Question] = []

    def model(agent: str, tensors: Tensors) -> int:
        questions.append((agent, {name: np.array(tensor) for name, tensor in tensors.items()}))
        return choose(agent, tensors)

    compile_asking(command, TASK, model, folder)
    return questions


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.c"
    path.write_text(source(kernels()))
    return path


@pytest.fixture
def questions(tmp_path: Path) -> list[Question]:
    """What is asked about a small loop that is split wherever it can be."""
    (tmp_path / "sums.c").write_text(SUMS)
    return asked([toolchain.tool("clang"), "-O3", "-c", tmp_path / "sums.c", "-o", tmp_path / "sums.o"], always, tmp_path)


def test_agents_are_asked_by_turns_where_they_have_a_choice(questions: list[Question]) -> None:
    assert [agent for agent, _ in questions] == ["selector", "selector", "distributor", "selector", "distributor", "distributor"]
    assert all(np.count_nonzero(tensors["action_mask"]) > 1 for _, tensors in questions)


def test_placed_nodes_are_seen(questions: list[Question]) -> None:
    assert [tensors["part"].tolist() for agent, tensors in questions if agent == "distributor"] == [[0, -1, -1, -1], [0, 1, -1, -1], [0, 1, 2, -1]]
    assert [(tensors["previous"], tensors["chosen"]) for agent, tensors in questions if agent == "distributor"] == [(0, 1), (1, 2), (2, 3)]
    assert [float(tensors["progress"]) for _, tensors in questions] == [0, 0.25, 0.25, 0.5, 0.5, 0.75]


def test_graph_is_seen(questions: list[Question]) -> None:
    _, tensors = questions[0]
    assert tensors["embedding"].shape == (4, 300)
    assert tensors["loop"].tolist()[:2] == [99, 1]
    assert tensors["loop"].tolist()[3] == 4
    assert tensors["statements"].tolist() == [1, 1, 1, 1]
    assert tensors["opcodes"].shape == (4, 68)
    np.testing.assert_array_equal(tensors["opcodes"].sum(axis=1) > 0, True)
    loads, stores, bytes_, stays, by_size, otherwise, unknown, guarded = tensors["memory"].T.tolist()
    assert (loads, stores) == ([1, 2, 1, 1], [1, 1, 1, 0])
    assert bytes_ == [8, 12, 8, 4]
    assert (stays, by_size, otherwise, unknown) == ([0, 0, 0, 0], [2, 3, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0])
    assert guarded == [0, 0, 1, 0]
    flow, *others, nearness, precedes = tensors["dependences"][:6]
    assert flow.tolist() == np.diag([0, 1, 0, 0]).tolist()  # c[i] of c[i - 1]
    assert nearness.tolist() == np.diag([0, 0.5, 0, 0]).tolist()
    assert np.count_nonzero([*others, precedes]) == 0
    shared = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    np.testing.assert_array_equal(tensors["dependences"][6], shared)


def test_dependences_are_seen_with_kind_and_nearness(tmp_path: Path) -> None:
    text = "extern float a[], b[]; void f(float *p, int n) { for (int i = 2; i < n; i++) { a[i] = p[i]; b[i] = a[i - 2]; p[i + 9] = 1; } }"
    (tmp_path / "loop.c").write_text(text)
    command: list[str | Path] = [toolchain.tool("clang"), "-O3", "-c", tmp_path / "loop.c", "-o", tmp_path / "loop.o"]
    (_, tensors), *_ = asked(command, never, tmp_path)
    flow, anti, output, avoidable, nearness, precedes = tensors["dependences"][:6]
    p_store, a_store, b_store = range(3)
    assert flow[p_store, a_store] == flow[a_store, b_store] == 1
    assert nearness[p_store, a_store] == pytest.approx(1 / 10)
    assert nearness[a_store, b_store] == pytest.approx(1 / 3)
    assert precedes.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert (output[b_store, p_store], anti[b_store, p_store], avoidable[b_store, p_store]) == (1, 1, 2)
    assert tensors["loop"][0] == -1


def test_always_and_never_are_what_they_are_without_a_policy(program: Path, tmp_path: Path) -> None:
    for choose, plain in ((always, splitting("always")), (never, ())):
        asked([*O3, program, "-o", tmp_path / "asked.o"], choose, tmp_path)
        subprocess.run([*O3, *plain, program, "-o", tmp_path / "plain.o"], check=True)
        assert (tmp_path / "asked.o").read_bytes() == (tmp_path / "plain.o").read_bytes()


@pytest.mark.parametrize("seed", range(2))
def test_kernels_print_the_same_whatever_is_decided(seed: int, program: Path, tmp_path: Path) -> None:
    asked([toolchain.tool("clang"), *STRICT, "-O3", program, "-o", tmp_path / "asked"], at_random(seed), tmp_path)
    assert run(tmp_path / "asked").splitlines() == sums(tmp_path, program.read_text(), "-O0")


@pytest.mark.parametrize("name", sorted(OUTPUTS)[::9])
def test_embedded_program_prints_the_same_after_the_task_in_opt(name: str, tmp_path: Path) -> None:
    (embedded,) = corpora.embedded(f"embedded/{name}")
    module, split = tmp_path / "program.bc", tmp_path / "split.bc"
    compile_(embedded, "-Oz", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", output=module)
    asked([toolchain.tool("opt"), f"-passes={TASK}", module, "-o", split], at_random(1), tmp_path)
    compile_(split, output=tmp_path / "program")
    assert run(tmp_path / "program") == OUTPUTS[name]


def told(program: Path, choose: Choose, folder: Path) -> dict[str, int | float]:
    """What a learner who wants to know everything is told at the end of an episode in opt."""
    module, base = folder / "kernels.bc", folder / "channel"
    compile_(program, "-Oz", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", output=module)
    for end in ("in", "out"):
        os.mkfifo(f"{base}.{end}")
    metrics = [metric["name"] for metric in bind(TASK, {}).declared["metrics"]]
    compiler = subprocess.Popen(with_policy([toolchain.tool("opt"), f"-passes={TASK}", module, "-o", folder / "split.bc"], f"pipe:{base}"))
    try:
        with _native.LearnerEnd.fifo(str(base)) as host:
            spec = TaskSpec(host.hello(TASK, "{}", metrics, 60.0, measure="end"))
            while (message := host.receive(60.0)).kind == "observation":
                host.advise(choose(spec.agents[message.agent].name, message.tensors))
        assert compiler.wait(60) == 0
    finally:
        compiler.kill()
        compiler.wait()
    return message.metrics


def test_learner_is_told_what_a_split_comes_to(program: Path, tmp_path: Path) -> None:
    metrics = told(program, always, tmp_path)
    assert metrics["parts"] > 2 * metrics["loops"] > 2 * 60
    assert metrics["size"] > metrics["size_default"] > 0
    assert metrics["throughput"] != metrics["throughput_default"] > 0
    assert metrics["cost"] != metrics["cost_default"] > 0


def test_no_split_comes_to_the_default(program: Path, tmp_path: Path) -> None:
    metrics = told(program, never, tmp_path)
    assert metrics["parts"] == metrics["loops"]
    for name in ("size", "text", "ir_instructions", "throughput", "cost"):
        assert metrics[name] == metrics[f"{name}_default"]


def test_loop_that_the_vectorizer_takes_costs_less(tmp_path: Path) -> None:
    text = "extern float a[], b[], c[]; void f(int n) {{ for (int i = 1; i < n; i++) {} }}"
    costs: list[float] = []
    for body in ("a[i] = b[i] * c[i];", "a[i] = a[i - 1] * c[i];"):
        (tmp_path / "loop.c").write_text(text.format(body))
        (folder := tmp_path / str(len(costs))).mkdir()
        costs.append(told(tmp_path / "loop.c", never, folder)["cost"])
    assert 2 * costs[0] < costs[1]


@pytest.mark.parametrize(("prefers", "answer"), [(0, "never"), (1, "always")])
def test_policy_decides_in_process(prefers: int, answer: str, program: Path, tmp_path: Path) -> None:
    policy = write_policy(tmp_path / "policy", prefers)
    subprocess.run([*with_policy(O3, f"onnx:{policy}"), program, "-o", tmp_path / "asked.o"], check=True)
    subprocess.run([*O3, *splitting(answer), program, "-o", tmp_path / "plain.o"], check=True)
    assert (tmp_path / "asked.o").read_bytes() == (tmp_path / "plain.o").read_bytes()


def test_policy_of_another_task_splits_nothing(program: Path, tmp_path: Path) -> None:
    asked = [*with_policy(O3, f"onnx:{shipped()['inliner']}"), "-Wno-backend-plugin"]  # or clang says that it was taught at -Oz
    for folder, command in (("asked", asked), ("plain", list(O3))):
        subprocess.run([*command, "-Rpass=mlcb-loop", program, "-o", tmp_path / f"{folder}.o"], check=True, capture_output=True)
    said = subprocess.run([*asked, "-Rpass=mlcb-loop", program, "-o", tmp_path / "x.o"], check=True, capture_output=True)
    assert said.stderr == b""


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"pipeline": ""}, "pipeline: expected one that vectorizes"),
        ({"pipeline": "default<O7>"}, "pipeline: "),
        ({"dimension": 3}, "dimension"),
        ({"vocabulary": "0" * 32}, "vocabulary"),
    ],
)
def test_parameter_that_means_nothing_is_named(parameters: dict[str, object], reason: str, program: Path, tmp_path: Path) -> None:
    policy = write_policy(tmp_path / "policy", 1, **parameters)
    module = tmp_path / "kernels.bc"
    compile_(program, "-O1", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", output=module)
    command = with_policy([toolchain.tool("opt"), f"-passes={TASK}", module, "-o", tmp_path / "split.bc"], f"onnx:{policy}")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{TASK}/{reason}" in done.stderr


def test_learner_that_leaves_ends_the_compilation(program: Path, tmp_path: Path) -> None:
    def leave(agent: str, tensors: Tensors) -> int:
        raise ConnectionAbortedError

    base = tmp_path / "channel"
    with ModelServer(f"pipe:{base}", only=TASK) as server:
        compiler = subprocess.Popen(with_policy([*O3, program, "-o", tmp_path / "asked.o"], f"pipe:{base}"), stderr=subprocess.PIPE, text=True)
        with pytest.raises((ConnectionAbortedError, SessionLost, CompilerError)):
            server.answer(leave, seconds=60)
        assert "mlcb: " in compiler.communicate(timeout=60)[1]
    assert compiler.returncode == 1
    assert not (tmp_path / "asked.o").exists()
