# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model server and compilers of which this package has never heard."""

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from mlcb_gym import _native
from mlcb_gym.errors import CompilerError, SessionLost, TaskError
from mlcb_gym.session import Compiler, ModelServer
from mlcb_gym.spec import TaskSpec

SPEC = json.dumps(
    {
        "task": "two",
        "agents": [
            {
                "name": "chooser",
                "inputs": [
                    {"name": "x", "dtype": "float32", "shape": [{"at_most": 3}]},
                    {"name": "code", "dtype": "string"},
                    {"name": "legal", "dtype": "int8", "shape": [2], "role": "mask"},
                ],
                "advice": {"kind": "argmax", "name": "choice", "choices": 2},
            },
            {"name": "judge", "inputs": [{"name": "y", "dtype": "bool"}], "advice": {"kind": "value", "name": "cost"}},
        ],
    }
)
STATE = {"x": np.array([1, 2], np.float32), "code": "ret", "legal": np.array([0, 1], np.int8)}
SECONDS = 10.0


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as made:
        yield made


@pytest.fixture
def compile_with(server: ModelServer) -> Iterator[Callable[..., Future[object]]]:
    """Runs a compiler in a thread: a function of its end of the conversation."""
    with ThreadPoolExecutor(1) as thread:

        def start(compiler: Callable[[Compiler], object]) -> Future[object]:
            def run() -> object:
                with Compiler.open(server.uri, SPEC) as end:
                    return compiler(end)

            return thread.submit(run)

        yield start


def test_every_agent_of_an_unheard_of_task_is_answered(server: ModelServer, compile_with: Callable[..., Future[object]]) -> None:
    seen: dict[str, Mapping[str, Any]] = {}

    def model(agent: str, tensors: Mapping[str, Any]) -> int | float:
        seen[agent] = tensors
        return {"chooser": 1, "judge": 2.5}[agent]

    advice = compile_with(lambda end: [end.observe(0, STATE), end.observe(1, {"y": True}), end.end("horizon", 0, STATE)])
    spec = server.answer(model, seconds=SECONDS)
    assert advice.result() == [1, 2.5, None]
    assert [agent.name for agent in spec.agents] == ["chooser", "judge"]
    np.testing.assert_equal(seen, {"chooser": STATE, "judge": {"y": True}})


@pytest.mark.parametrize("serializer", ["bitstream", "json", "protobuf"])
@pytest.mark.parametrize("place", ["pipe:{}/x", "shm:{}/x", "grpc://127.0.0.1:0"])
def test_every_medium_and_serializer_tell_the_same(place: str, serializer: str, tmp_path: Path) -> None:
    seen: list[dict[str, object]] = []

    def model(agent: str, tensors: Mapping[str, Any]) -> int:
        seen.append(dict(tensors))
        return 1

    with ModelServer(f"{place.format(tmp_path)}?serdes={serializer}") as server, ThreadPoolExecutor(1) as thread:
        advice = thread.submit(lambda: _ask_once(server.uri))
        server.answer(model, seconds=SECONDS)
        assert advice.result() == 1
    np.testing.assert_equal(seen, [STATE])
    assert not list(tmp_path.iterdir())


def _ask_once(uri: str) -> int | float:
    with Compiler.open(uri, SPEC) as compiler:
        return compiler.observe(0, STATE)


def test_compilers_are_answered_one_after_another(server: ModelServer, compile_with: Callable[..., Future[object]]) -> None:
    for _ in range(2):
        advice = compile_with(lambda end: end.observe(0, STATE))
        server.answer(lambda agent, tensors: 1, seconds=SECONDS)
        assert advice.result() == 1


def test_masked_advice_is_the_models_error(server: ModelServer, compile_with: Callable[..., Future[object]]) -> None:
    advice = compile_with(lambda end: end.observe(0, STATE))
    with pytest.raises(_native.InvalidArgument, match="advice 0 for choice is masked"):
        server.answer(lambda agent, tensors: 0, seconds=SECONDS)
    with pytest.raises(_native.PeerGone):
        advice.result()


def test_nobody_who_comes_is_an_error_in_time(server: ModelServer) -> None:
    with pytest.raises(SessionLost, match="nobody opened"):
        server.answer(lambda agent, tensors: 0, seconds=0.01)


def test_compiler_that_declares_nonsense_is_refused(server: ModelServer) -> None:
    with ThreadPoolExecutor(1) as thread:
        opened = thread.submit(Compiler.open, server.uri, "{}")
        with pytest.raises((CompilerError, SessionLost)):
            server.answer(lambda agent, tensors: 0, seconds=SECONDS)
        with pytest.raises(_native.InvalidArgument, match="'task' wrongly: expected a name"):
            opened.result()


def test_declaration_in_the_documentation_is_taken() -> None:
    page = (Path(__file__).parent.parent / "docs" / "integration.md").read_text()
    declared = page.split("```json\n")[1].split("```")[0]
    with Compiler.open("default:", declared) as compiler:
        spec = TaskSpec(compiler.spec)
    assert spec.task == "unroll"
    assert [(t.name, t.shape, t.low, t.high) for t in spec.agents[0].inputs] == [
        ("trip_count", (), 0, 1e9),
        ("body", (600, 75), -1e9, 1e9),
        ("legal", (4,), 0, 1),
    ]


def test_fifos_go_with_the_server(tmp_path: Path) -> None:
    with ModelServer(f"pipe:{tmp_path}/x") as server:
        assert {path.name for path in tmp_path.iterdir()} == {"x.in", "x.out"}
    server.close()
    assert not list(tmp_path.iterdir())


def test_options_of_the_runner_may_stand_in_the_servers_uri(tmp_path: Path) -> None:
    with ModelServer(f"pipe:{tmp_path}/x?timeout={SECONDS}&serdes=json") as server, ThreadPoolExecutor(1) as thread:
        advice = thread.submit(lambda: _ask_once(server.uri))
        server.answer(lambda agent, tensors: 1, seconds=SECONDS)
        assert advice.result() == 1


def test_port_that_is_taken_is_named() -> None:
    with ModelServer("grpc://127.0.0.1:0") as server, pytest.raises(SessionLost, match=f"cannot listen at {server.uri}"):
        ModelServer(server.uri)


def test_compiler_may_be_the_one_that_listens() -> None:
    with ModelServer("grpc://127.0.0.1:0") as free:
        uri = f"{free.uri}?server=compiler"
    with ModelServer(uri) as server, ThreadPoolExecutor(1) as thread:
        advice = thread.submit(_ask_once, uri)
        server.answer(lambda agent, tensors: 1, seconds=SECONDS)
        assert advice.result() == 1


@pytest.mark.parametrize("uri", ["onnx:x", "pipe:", "x"])
def test_place_that_is_none_is_refused(uri: str) -> None:
    with pytest.raises(TaskError, match="expected pipe:BASE"):
        ModelServer(uri)


def test_option_that_no_server_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="unknown option 'serdez', expected serdes or timeout"):
        ModelServer(f"pipe:{tmp_path}/x?serdez=json")
    assert not list(tmp_path.iterdir())


def plain_model(path: Path, shape: list[int], outputs: int) -> str:
    """A model without a policy folder around it: it adds up its input, into outputs that are all alike."""
    value_info = onnx.helper.make_tensor_value_info
    weights = onnx.numpy_helper.from_array(np.ones((shape[-1], outputs), np.float32), "weights")
    node = onnx.helper.make_node("MatMul", ["x", "weights"], ["anything"])
    inputs = [value_info("x", onnx.TensorProto.FLOAT, shape)]
    graph = onnx.helper.make_graph([node], "g", inputs, [value_info("anything", onnx.TensorProto.FLOAT, [1, outputs])], [weights])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), path)
    return f"onnx:{path}"


SUM = json.dumps(
    {
        "task": "sum",
        "agents": [{"name": "model", "inputs": [{"name": "x", "dtype": "float32", "shape": [3]}], "advice": {"kind": "value", "name": "y"}}],
    }
)


def test_plain_model_needs_no_policy_folder(tmp_path: Path) -> None:
    with Compiler.open(plain_model(tmp_path / "sum.onnx", [1, 3], 1), SUM) as compiler:
        assert compiler.observe(0, {"x": np.array([1, 2, 4], np.float32)}) == 7.0


def test_plain_model_of_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(_native.SpecMismatch, match=r"input 'x' is float32\[1,4\], expected float32\[1,3\]"):
        Compiler.open(plain_model(tmp_path / "a.onnx", [1, 4], 1), SUM)
    with pytest.raises(_native.SpecMismatch, match=r"output 'anything' is float32\[1,2\], expected float32\[1,1\]"):
        Compiler.open(plain_model(tmp_path / "b.onnx", [1, 3], 2), SUM)
    with pytest.raises(_native.SpecMismatch, match="is one model, task 'two' has 2 agents"):
        Compiler.open(f"onnx:{tmp_path}/a.onnx", SPEC)


def own_policy(folder: Path) -> str:
    """A policy folder for a task that only its compiler and its policy know."""
    with ModelServer(f"pipe:{folder}/channel") as server, ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: Compiler.open(server.uri, SUM).close())
        spec: TaskSpec = server.answer(lambda agent, tensors: 0, seconds=SECONDS)
    plain_model(folder / "model.onnx", [1, 3], 1)
    manifest = {"format": 1, "task": "sum", "parameters": {}, "digest": spec.digest, "spec": spec.declared, "agents": {"model": "model.onnx"}}
    (folder / "policy.json").write_text(json.dumps(manifest))
    return f"onnx:{folder}"


def test_policy_of_a_compilers_own_task_is_served(tmp_path: Path) -> None:
    with Compiler.open(own_policy(tmp_path), SUM) as compiler:
        assert compiler.observe(0, {"x": np.array([1, 2, 4], np.float32)}) == 7.0


def test_policy_of_another_declaration_is_refused(tmp_path: Path) -> None:
    other = SUM.replace('"dtype": "float32"', '"dtype": "float32", "high": 1')
    with pytest.raises(_native.SpecMismatch, match="sum/x: compiler sends high 1"):
        Compiler.open(own_policy(tmp_path), other)


@pytest.mark.parametrize("scheme", ["pipe", "shm"])
def test_compiler_that_waits_for_a_learner_can_be_interrupted(scheme: str, tmp_path: Path) -> None:
    for end in (".in", ".out"):
        os.mkfifo(f"{tmp_path}/channel{end}")
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            Compiler.open(f"{scheme}:{tmp_path}/channel")
    finally:
        signal.signal(signal.SIGALRM, before)
