# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policy folders that are broken on purpose: each is one line of error, and nothing waits."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from mlcb_gym import _native, toolchain
from mlcb_gym.envs import env_class
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import PolicyError
from mlcb_gym.export.aot import compile_policy, compiled
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy, in_process
from mlcb_gym.session import WorkerSession
from tests.support.builds import clang


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(shipped()["inliner"], tmp_path / "policy"))


def model(folder: Path) -> Path:
    (name,) = json.loads((folder / "policy.json").read_text())["agents"].values()
    return folder / str(name)


def always(folder: Path, logits: list[float], *beside: onnx.NodeProto, functions: Sequence[onnx.FunctionProto] = ()) -> None:
    """Makes the model one that answers the same whatever it is asked, with other nodes beside."""
    output = onnx.load(str(model(folder))).graph.output[0]
    constants = [numpy_helper.from_array(np.array([logits], np.float32), "constant"), numpy_helper.from_array(np.array(True), "true")]
    answer = helper.make_tensor_value_info(output.name, TensorProto.FLOAT, [1, len(logits)])
    graph = helper.make_graph([*beside, helper.make_node("Identity", ["constant"], [output.name])], "always", [], [answer], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("own", 1)], functions=functions)
    made.ir_version = 8
    model(folder).write_bytes(made.SerializeToString())


def endless() -> onnx.NodeProto:
    """A loop whose condition stays true."""
    number, goes_on = (helper.make_tensor_value_info(name, kind, []) for name, kind in {"i": TensorProto.INT64, "go": TensorProto.BOOL}.items())
    still = helper.make_tensor_value_info("still", TensorProto.BOOL, [])
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["still"])], "body", [number, goes_on], [still])
    return helper.make_node("Loop", ["", "true"], [], body=body)


def branch(*nodes: onnx.NodeProto) -> onnx.NodeProto:
    """One of two branches, which are alike."""
    result = helper.make_tensor_value_info("result", TensorProto.BOOL, [])
    graph = helper.make_graph([*nodes, helper.make_node("Identity", ["true"], ["result"])], "branch", [], [result])
    return helper.make_node("If", ["true"], ["taken"], then_branch=graph, else_branch=graph)


def function() -> onnx.FunctionProto:
    return helper.make_function("own", "f", ["x"], ["y"], [helper.make_node("Identity", ["x"], ["y"])], [helper.make_opsetid("", 18)])


@pytest.fixture(scope="module")
def observation(worker: WorkerSession) -> Observation:
    env = env_class("inliner")(programs="embedded/train/dijkstra", session=worker, **OnnxPolicy(shipped()["inliner"]).env_arguments)
    return env.reset(seed=1)[0]


def test_logits_that_are_all_nan_are_an_error(folder: Path, observation: Observation) -> None:
    always(folder, [np.nan, np.nan])
    with pytest.raises(_native.InvalidArgument, match="says NaN for all that its mask allows") as caught:
        in_process(f"onnx:{folder}", [observation])
    assert "\n" not in str(caught.value)
    with pytest.raises(PolicyError, match="NaN for all that its mask allows"):
        OnnxPolicy(folder).advice(observation)


@pytest.mark.parametrize(("logits", "best"), [([np.nan, -1.0], 1), ([-np.inf, np.nan], 0)])
def test_logit_that_is_nan_counts_as_masked(folder: Path, observation: Observation, logits: list[float], best: int) -> None:
    always(folder, logits)
    assert in_process(f"onnx:{folder}", [observation]) == [best] == [OnnxPolicy(folder).advice(observation)]


@pytest.mark.parametrize(
    ("nodes", "functions", "why"),
    [
        ([endless()], [], "has the operator Loop, expected a model without loops"),
        ([branch(endless())], [], "has the operator Loop, expected a model without loops"),
        ([], [function()], "has functions of its own, expected a model in which they are inlined"),
    ],
    ids=["loop", "loop in a branch", "function"],
)
def test_model_that_may_compute_without_end_is_refused(
    folder: Path, observation: Observation, nodes: list[onnx.NodeProto], functions: list[onnx.FunctionProto], why: str
) -> None:
    always(folder, [0.0, 1.0], *nodes, functions=functions)
    for refuse in (lambda: in_process(f"onnx:{folder}", [observation]), lambda: OnnxPolicy(folder)):
        with pytest.raises(_native.InvalidArgument, match=f"^[^\n]*{model(folder).name} {why}$"):
            refuse()


def test_loop_whose_key_is_longer_than_protobuf_reads_is_refused(folder: Path, observation: Observation) -> None:
    always(folder, [0.0, 1.0])
    made = onnx.load(model(folder))
    node, graph = endless().SerializeToString(), made.graph.SerializeToString()
    hidden = b"\x8a\x80\x80\x80\x10" + _varint(len(node)) + node  # protobuf reads field 1, a node
    made.ClearField("graph")
    whole = made.SerializeToString() + b"\x3a" + _varint(len(graph + hidden)) + graph + hidden
    model(folder).write_bytes(whole)
    for refuse in (lambda: in_process(f"onnx:{folder}", [observation]), lambda: OnnxPolicy(folder)):
        with pytest.raises(_native.InvalidArgument, match=r"cannot be read, expected an ONNX model$"):
            refuse()


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


def index_of(values: list[int]) -> onnx.NodeProto:
    return helper.make_node("Constant", [], ["index"], value=numpy_helper.from_array(np.array([values], np.int64)))


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([helper.make_node("Gather", ["constant", "seen"], ["x"])], "it computes an index or a size of Gather, expected a constant"),
        (
            [helper.make_node("ScatterElements", ["constant", "y", "constant"], ["x"], axis=1), helper.make_node("Add", ["seen", "seen"], ["y"])],
            "it computes",
        ),
        ([helper.make_node("Range", ["seen", "seen", "seen"], ["x"])], "it computes an index or a size of Range"),
        ([index_of([2, 0]), helper.make_node("ScatterElements", ["constant", "index", "constant"], ["x"], axis=1)], "out of data bounds"),
        ([index_of([-3]), helper.make_node("Gather", ["constant", "index"], ["x"], axis=1)], "out of data bounds"),
        ([helper.make_node("NonZero", ["constant"], ["x"])], "not known to stay within its memory: operator NonZero"),
    ],
    ids=["gathers", "scatters in another order", "has any size", "scatters out of bounds", "gathers out of bounds", "has another operator"],
)
def test_model_that_may_leave_its_memory_is_not_compiled(folder: Path, tmp_path: Path, nodes: list[onnx.NodeProto], why: str) -> None:
    first = json.loads((folder / "policy.json").read_text())["spec"]["agents"][0]["inputs"][0]
    always(folder, [0.0, 1.0], helper.make_node("Cast", [first["name"]], ["seen"], to=TensorProto.INT64), *nodes)
    made = onnx.load(model(folder))
    seen = helper.make_tensor_value_info(first["name"], helper.np_dtype_to_tensor_dtype(np.dtype(first["dtype"])), [1, *first["shape"]])
    made.graph.input.append(seen)
    model(folder).write_bytes(made.SerializeToString())
    with pytest.raises(PolicyError, match=rf"^[^\n]*emx-onnx-cgen cannot compile it \([^\n]*(?:{why})[^\n]*\); deploy it with onnx:$"):
        compile_policy(folder, tmp_path / "policy.so")


def test_model_with_branches_is_asked(folder: Path, observation: Observation) -> None:
    always(folder, [0.0, 1.0], branch())
    assert in_process(f"onnx:{folder}", [observation]) == [1]


def test_file_that_is_no_model_is_refused(folder: Path, observation: Observation) -> None:
    model(folder).write_bytes(b"not a model")
    for refuse in (lambda: in_process(f"onnx:{folder}", [observation]), lambda: OnnxPolicy(folder)):
        with pytest.raises(_native.InvalidArgument, match=r"cannot be read, expected an ONNX model$"):
            refuse()


def test_model_whose_tensors_are_in_other_files_is_refused(folder: Path, observation: Observation) -> None:
    made = onnx.load(str(model(folder)))
    for tensor in made.graph.initializer:
        if tensor.raw_data:
            onnx.external_data_helper.set_external_data(tensor, "../elsewhere")
            tensor.ClearField("raw_data")
    model(folder).write_bytes(made.SerializeToString())
    for refuse in (lambda: in_process(f"onnx:{folder}", [observation]), lambda: OnnxPolicy(folder), lambda: compiled(folder)):
        with pytest.raises(_native.InvalidArgument, match=r"has a tensor whose values are elsewhere, expected all in the model itself$"):
            refuse()


def test_text_of_a_model_is_never_compiled(folder: Path, tmp_path: Path) -> None:
    """The generator writes it into comments of C."""
    made = onnx.load(str(model(folder)))
    code = f'*/ #include <stdio.h>\n__attribute__((constructor)) static void run(void) {{ fclose(fopen("{tmp_path}/ran", "w")); }} /*'
    made.graph.name = made.graph.doc_string = made.doc_string = made.producer_name = made.domain = code
    made.graph.node[0].name = made.graph.node[0].doc_string = code
    onnx.helper.set_model_props(made, {code: code})
    renamed = made.graph.initializer[0].name
    for node in made.graph.node:
        node.input[:] = [code if name == renamed else name for name in node.input]
    made.graph.initializer[0].name = code
    model(folder).write_bytes(made.SerializeToString())
    compile_policy(folder, tmp_path / "policy.so")
    assert not (tmp_path / "ran").exists()


def test_bundle_has_of_a_policy_what_its_manifest_names(folder: Path, tmp_path: Path) -> None:
    (folder / "notes").symlink_to("/etc/hostname")
    write_clang_config(tmp_path / "bundle" / "mlcb.cfg", [folder], bundle=True)
    assert sorted(path.name for path in (tmp_path / "bundle" / folder.name).iterdir()) == ["advisor.onnx", "policy.json"]
    manifest = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(manifest | {"custom_operators": "../notes"}))
    with pytest.raises(PolicyError, match=r"custom_operators is '../notes', expected the name of a file of this folder"):
        write_clang_config(tmp_path / "other" / "mlcb.cfg", [folder], bundle=True, trust=True)


def test_bundle_has_no_file_that_a_policy_links_to(folder: Path, tmp_path: Path) -> None:
    model(folder).unlink()
    model(folder).symlink_to("/etc/hostname")
    with pytest.raises(PolicyError, match=r"advisor\.onnx: a link out of the policy's folder, expected a file of its own$"):
        write_clang_config(tmp_path / "bundle" / "mlcb.cfg", [folder], bundle=True)


@pytest.mark.parametrize("bundle", [False, True])
def test_name_of_a_folder_is_no_option_of_clang(folder: Path, tmp_path: Path, bundle: bool) -> None:
    (tmp_path / "source.c").write_text("int f(int x) { return x; }\n")
    named = folder.rename(tmp_path / "of 'mine' \\ -fplugin=none.so \"x")
    config = write_clang_config(tmp_path / "own folder" / "mlcb.cfg", [named], bundle=bundle)
    done = clang(config, tmp_path, "-Oz", "-Rpass=mlcb", "-c", "source.c", "-o", "source.o")
    assert "inliner: 0 decisions" in done.stderr


def test_name_of_a_folder_is_one_line_of_the_configuration(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"expected names of files without control characters$"):
        write_clang_config(tmp_path / "mlcb.cfg", [folder.rename(tmp_path / "of mine\n-fplugin=none.so")])
    assert not (tmp_path / "mlcb.cfg").exists()


@pytest.mark.parametrize("name", ["policy.json", "model"])
def test_fifo_in_a_policy_is_refused_at_once(folder: Path, observation: Observation, name: str) -> None:
    path = model(folder) if name == "model" else folder / name
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(_native.NativeError, match=f"{path} is (a FIFO|no regular file), expected"):
        in_process(f"onnx:{folder}", [observation])
    with pytest.raises(PolicyError, match=r"no readable policy\.json|no regular file, expected one"):
        compiled(folder)


@pytest.mark.parametrize("task", ["/tmp/inliner", "../inliner", "inliner\n\x1b[31m", ".."])
def test_name_that_is_a_path_is_refused(folder: Path, task: str) -> None:
    """A compiled policy in the cache is called after its task, and could be anybody's file."""
    manifest = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(manifest | {"task": task}))
    with pytest.raises(PolicyError, match=r"policy\.json: task .*, expected letters, digits") as refused:
        compiled(folder)
    assert str(refused.value).isprintable()
    said = subprocess.run(
        [toolchain.tool("opt"), f"-load-pass-plugin={toolchain.plugin()}", f"-mlcb-runner=onnx:{folder}", "-passes=default<Oz>", os.devnull],
        check=False,
        capture_output=True,
        text=True,
    ).stderr
    assert "mlcb: " in said
    assert "\x1b" not in said
    (agent,) = manifest["agents"]
    (folder / "policy.json").write_text(json.dumps(manifest | {"agents": {agent: "../model.onnx"}}))
    with pytest.raises(PolicyError, match=r"expected the name of a file of this folder"):
        compiled(folder)


def test_what_lies_where_onnx_runtime_would_keep_telemetry_is_not_waited_for(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".ses")
    opens = f"from pathlib import Path; from mlcb_gym.rollout.onnx_policy import OnnxPolicy; OnnxPolicy(Path({str(folder)!r}))"
    without = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", opens], env=without | {"TMPDIR": str(tmp_path)}, timeout=60, check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".ses", "policy"]
