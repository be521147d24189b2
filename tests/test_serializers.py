# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every serializer carries the same observations: between our two ends, for readers that are not ours, and in a compiler."""

import json
import math
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from mlcb_gym import _native
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.session import Session, WorkerSession
from mlcb_gym.session.plugin import PluginSession
from mlcb_gym.spec import TaskSpec, bind
from tests.support.posetrl import ACTIONS

SERIALIZERS = ["bitstream", "json", "protobuf"]
PROTO = Path(__file__).parent.parent / "native/serdes/protobuf/tensors.proto"
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 2.0, 1e-45, 3.4028235e38], np.float32)
ROUNDS = 50

Tensors = dict[str, np.ndarray]


@pytest.fixture
def spec() -> TaskSpec:
    return bind("posetrl", {"actions": ["a", "b", "stop"], "dimension": 40})


def observations(spec: TaskSpec) -> Iterator[tuple[Tensors, dict[str, float]]]:
    """Tensors of any bits that their types have, and metrics."""
    rng = np.random.default_rng(1)
    for _ in range(ROUNDS):
        tensors = {t.name: _bits(rng, np.dtype(t.dtype), t.shape) for t in spec.agents[0].inputs}
        tensors["embedding"] = np.where(rng.random(40) < 0.2, rng.choice(SPECIAL, 40), tensors["embedding"])
        yield tensors, {"size": int(rng.integers(-(2**63), 2**63)), "throughput": float(rng.standard_normal())}


def _bits(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(rng.bytes(math.prod(shape) * dtype.itemsize), dtype).reshape(shape)


@pytest.mark.parametrize("serializer", SERIALIZERS)
def test_observations_are_decoded_as_they_were(serializer: str, spec: TaskSpec) -> None:
    for tensors, metrics in observations(spec):
        payload = _native.encode(serializer, spec.json, 0, tensors, metrics)
        decoded, measured = _native.decode(serializer, spec.json, 0, payload, list(metrics))
        np.testing.assert_equal(decoded, tensors)
        assert measured == metrics


def test_json_is_what_python_reads_and_writes(spec: TaskSpec) -> None:
    for tensors, metrics in observations(spec):
        payload = _native.encode("json", spec.json, 0, tensors, metrics)
        read = json.loads(payload)
        assert list(read) == [*tensors, *metrics]
        assert all(isinstance(x, float | str) for x in read["embedding"])
        for name, tensor in tensors.items():
            np.testing.assert_equal(np.asarray(read[name]).astype(tensor.dtype), tensor)
        decoded, measured = _native.decode("json", spec.json, 0, json.dumps(read, indent=1, sort_keys=True).encode(), list(metrics))
        np.testing.assert_equal(decoded, tensors)
        assert measured == metrics


def test_protobuf_is_what_the_published_message_says(spec: TaskSpec, tmp_path: Path) -> None:
    message = _message_class(tmp_path)
    for tensors, metrics in observations(spec):
        read = message.FromString(_native.encode("protobuf", spec.json, 0, tensors, metrics))
        assert [t.name for t in read.tensors] == [*tensors, *metrics]
        for tensor in read.tensors:
            if tensor.name in tensors:
                values = np.array(tensor.floats or tensor.integers, tensors[tensor.name].dtype).reshape(list(tensor.shape))
                np.testing.assert_equal(values, tensors[tensor.name])
        decoded, measured = _native.decode("protobuf", spec.json, 0, read.SerializeToString(), list(metrics))
        np.testing.assert_equal(decoded, tensors)
        assert measured == metrics


def _message_class(folder: Path) -> Any:
    described = folder / "tensors.pb"
    subprocess.run(["protoc", f"--proto_path={PROTO.parent}", f"--descriptor_set_out={described}", PROTO], check=True)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor_pb2.FileDescriptorSet.FromString(described.read_bytes()).file[0])
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("mlcb.Tensors"))


@pytest.mark.parametrize("serializer", SERIALIZERS)
def test_truncated_observation_is_refused(serializer: str, spec: TaskSpec) -> None:
    tensors, _ = next(observations(spec))
    payload = _native.encode(serializer, spec.json, 0, tensors)
    for length in range(0, len(payload), 7):
        with pytest.raises(_native.ProtocolError):
            _native.decode(serializer, spec.json, 0, payload[:length])


def test_serializer_that_is_not_there_is_named(spec: TaskSpec) -> None:
    with pytest.raises(_native.InvalidArgument, match=r"unknown serializer 'xml': there is no libmlcb_serdes_xml\.so"):
        _native.decode("xml", spec.json, 0, b"")


@pytest.mark.parametrize("session", [PluginSession, WorkerSession])
def test_compiler_shows_the_same_whatever_the_serializer(session: type[PluginSession] | type[WorkerSession], program: Path) -> None:
    expected, *others = (list(_episode(session(serializer=name), program)) for name in SERIALIZERS)
    assert len(expected) == 4
    for seen in others:
        np.testing.assert_equal(seen, expected)


def _episode(session: Session, program: Path) -> Iterator[tuple[Tensors, dict[str, Any]]]:
    """All that an agent sees of an episode of fixed actions."""
    with closing(session), closing(PosetRLEnv(programs=program, actions=ACTIONS, reward="size", session=session)) as env:
        yield env.reset(seed=1)
        for action in (0, 1, 4):
            observation, _, _, _, info = env.step(action)
            yield observation, info
