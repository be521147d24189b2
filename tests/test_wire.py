# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bytes of docs/protocol.md, and a learner whose worker is scripted, broken, or no worker at all."""

import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Thread, Timer

import numpy as np
import pytest

from mlcb_gym import _native
from mlcb_gym.spec import TaskSpec, bind

PARAMETERS = {"actions": ["a", "b", "stop"], "dimension": 2, "history": 1}
SECONDS = 10.0


@pytest.fixture
def ends() -> Iterator[tuple[int, socket.socket]]:
    """Our end as a descriptor to hand over, and theirs as a raw socket."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(SECONDS)
    with theirs:
        yield ours.detach(), theirs


@pytest.fixture
def spec() -> TaskSpec:
    return bind("posetrl", PARAMETERS)


@pytest.fixture
def host(ends: tuple[int, socket.socket], spec: TaskSpec) -> _native.LearnerEnd:
    """The learner's end of an episode."""
    return _native.LearnerEnd(ends[0], spec.json, ["size"])


@pytest.fixture
def worker(ends: tuple[int, socket.socket]) -> _native.Frames:
    """The other end, which speaks in frames. What it says before it is asked waits in the socket."""
    return _native.Frames(ends[1].detach())


def observation(spec: TaskSpec) -> bytes:
    tensors = {t.name: np.ones(t.shape, t.dtype) for t in spec.agents[0].inputs}
    return _native.encode("bitstream", spec.json, 0, tensors, {"size": 7})


def test_frames_have_the_documented_bytes(ends: tuple[int, socket.socket]) -> None:
    frames = _native.Frames(ends[0])
    frames.send("hello")
    frames.send("episode_end", b"hi", agent=2, flags=3)
    assert ends[1].recv(64) == b"MLCB\1\1\0\0\0\0\0\0\0\0\0\0" + b"MLCB\1\5\2\3\1\0\0\0\2\0\0\0hi"


def test_documented_bytes_are_read_as_a_frame(ends: tuple[int, socket.socket]) -> None:
    ends[1].sendall(b"MLCB\1\4\1\0\0\0\0\0\2\0\0\0hi")
    assert _native.Frames(ends[0]).receive(SECONDS) == ("advice", 1, 0, b"hi", -1)


def test_advice_is_eight_bytes_that_answer_an_observation(host: _native.LearnerEnd, worker: _native.Frames, spec: TaskSpec) -> None:
    worker.send("observation", observation(spec))
    message = host.receive(SECONDS)
    assert (message.kind, message.metrics) == ("observation", {"size": 7})
    np.testing.assert_equal(message.tensors["action_mask"], np.ones(3, np.int8))
    host.advise(2)
    assert worker.receive(SECONDS) == ("advice", 0, 0, struct.pack("<q", 2), -1)


def test_answer_that_closes_the_end_is_an_error(host: _native.LearnerEnd, worker: _native.Frames, spec: TaskSpec) -> None:
    class Closes:
        def __index__(self) -> int:
            host.close()
            return 2

    worker.send("observation", observation(spec))
    host.receive(SECONDS)
    with pytest.raises(_native.PeerGone, match="the channel was closed meanwhile"):
        host.advise(Closes())  # type: ignore[arg-type]


def test_hello_asks_for_a_task_and_gets_the_bound_spec(ends: tuple[int, socket.socket], worker: _native.Frames, spec: TaskSpec) -> None:
    worker.send("hello", spec.json.encode())
    host = _native.LearnerEnd(ends[0])
    assert host.hello("posetrl", json.dumps(PARAMETERS), ["size"], SECONDS) == spec.json
    kind, _, _, payload, _ = worker.receive(SECONDS)
    assert kind == "hello"
    asked = {"task": "posetrl", "parameters": PARAMETERS, "serializer": "bitstream", "metrics": ["size"], "measure": "always"}
    assert json.loads(payload) == asked


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"digest": "00"}, "digest"),
        ({"llvm": 10, "digest": "00"}, "compiler has llvm 10"),
        ({"task": "other"}, "task 'other' is not one that this build knows"),
        ({"parameters": PARAMETERS | {"dimension": 75}, "digest": "00"}, "posetrl"),
    ],
)
def test_bound_spec_that_is_not_ours_is_refused_at_both_ends(
    ends: tuple[int, socket.socket], worker: _native.Frames, spec: TaskSpec, change: dict[str, object], sentence: str
) -> None:
    worker.send("hello", json.dumps(dict(spec.declared) | change).encode())
    host = _native.LearnerEnd(ends[0])
    with pytest.raises(_native.SpecMismatch, match=sentence):
        host.hello("posetrl", json.dumps(PARAMETERS), [], SECONDS)
    worker.receive(SECONDS)
    with pytest.raises(_native.PeerError, match=sentence):
        worker.receive(SECONDS)


def test_begin_hands_over_the_descriptor_of_its_channel(ends: tuple[int, socket.socket], worker: _native.Frames) -> None:
    ours, theirs = socket.socketpair()
    _native.LearnerEnd(ends[0]).begin("{}", theirs.detach(), SECONDS)
    kind, _, _, payload, descriptor = worker.receive(SECONDS)
    assert (kind, payload) == ("begin", b"{}")
    with ours, socket.socket(fileno=descriptor) as received:
        received.sendall(b"here")
        assert ours.recv(4) == b"here"


def test_fork_hands_over_a_channel_where_a_clone_may_speak(host: _native.LearnerEnd, worker: _native.Frames, spec: TaskSpec) -> None:
    worker.send("observation", observation(spec))
    host.receive(SECONDS)
    clone = _native.LearnerEnd(host.fork(), spec.json, ["size"])
    kind, _, _, _, descriptor = worker.receive(SECONDS)
    assert kind == "fork"
    _native.Frames(descriptor).send("begin", b'{"pid":1}')
    assert clone.receive(SECONDS).text == '{"pid":1}'


def test_truncated_frame_is_the_end_of_the_peer(host: _native.LearnerEnd, ends: tuple[int, socket.socket]) -> None:
    ends[1].sendall(b"MLCB\1\3\0\0\0\0")
    ends[1].shutdown(socket.SHUT_WR)
    with pytest.raises(_native.PeerGone, match="closed its channel or died"):
        host.receive(SECONDS)


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not start with MLCB"),
        (b"MLCB\2\3\0\0\0\0\0\0\0\0\0\0", "version 2"),
        (b"MLCB\1\3\0\0\0\0\0\0\1\0\0\4", "67108865 bytes, at most 67108864"),
        (b"MLCB\1\3\0\0\5\0\0\0\0\0\0\0", "frame 5 came where frame 0 was due"),
        (b"MLCB\1\4\0\0\0\0\0\0\0\0\0\0", "a compiler does not send 'advice'"),
        (b"MLCB\1\3\0\0\0\0\0\0\4\0\0\0half", "tensor embedding needs 8 bytes"),
        (b"MLCB\1\3\7\0\0\0\0\0\0\0\0\0", "agent 7"),
    ],
    ids=["foreign", "version", "oversized", "sequence", "kind", "payload", "agent"],
)
def test_wrong_frame_is_refused_with_a_sentence_that_both_ends_get(
    host: _native.LearnerEnd, ends: tuple[int, socket.socket], sent: bytes, sentence: str
) -> None:
    ends[1].sendall(sent)
    with pytest.raises(_native.ProtocolError, match=sentence):
        host.receive(SECONDS)
    answer = ends[1].recv(1000)
    assert answer[:6] == b"MLCB\1\7"
    assert sentence in answer[16:].decode()
    assert ends[1].recv(1) == b""
    assert host.fileno() == -1


def test_bytes_that_are_no_text_are_replaced(host: _native.LearnerEnd, ends: tuple[int, socket.socket]) -> None:
    ends[1].sendall(b"MLCB\1\7\0\0\0\0\0\0\4\0\0\0caf\xe9")
    with pytest.raises(_native.PeerError, match="caf\N{REPLACEMENT CHARACTER}"):
        host.receive(SECONDS)


def test_failure_of_their_machine_is_not_what_was_asked(host: _native.LearnerEnd, worker: _native.Frames) -> None:
    worker.send("error", b"fork: Resource temporarily unavailable", flags=2)
    with pytest.raises(_native.SystemError_, match="fork"):
        host.receive(SECONDS)


@pytest.mark.parametrize("end", ["host", "worker"])
def test_close_in_another_thread_ends_a_wait(request: pytest.FixtureRequest, end: str) -> None:
    waited_at = request.getfixturevalue(end)
    closing = Timer(0.01, waited_at.close)
    closing.start()
    with pytest.raises(_native.PeerGone, match="closed"):
        waited_at.receive(SECONDS)
    closing.join()
    assert waited_at.fileno() == -1


@pytest.mark.parametrize("end", ["host", "worker"])
def test_second_thread_at_an_end_is_told_that_another_waits(request: pytest.FixtureRequest, end: str) -> None:
    waited_at = request.getfixturevalue(end)
    first = Thread(target=pytest.raises, args=(_native.PeerGone, waited_at.receive, SECONDS))
    first.start()
    with pytest.raises(_native.InvalidArgument, match=r"^another thread waits at this end$"):
        list(iter(waited_at.fileno, -1))  # until it does
    with pytest.raises(_native.InvalidArgument, match=r"^another thread waits at this end$"):
        waited_at.receive(SECONDS)
    waited_at.close()
    first.join()


def test_value_that_closes_the_compiler_is_shown_and_then_it_is_closed(
    ends: tuple[int, socket.socket], worker: _native.Frames, spec: TaskSpec
) -> None:
    class Closes:
        def __array__(self, *_: object, **__: object) -> np.ndarray:
            compiler.close()
            return np.zeros(2, np.float32)

    worker.send("advice", struct.pack("<q", 2))
    compiler = _native.Compiler.serve(ends[0], spec.json)
    tensors = {"embedding": Closes(), "action_mask": np.ones(3, np.int8)}
    assert compiler.observe(0, tensors) == 2
    with pytest.raises(_native.PeerGone, match="the channel is closed"):
        compiler.observe(0, tensors)
    assert [worker.receive(SECONDS)[0] for _ in range(3)] == ["begin", "observation", "bye"]


def test_byte_of_a_boolean_metric_is_true_unless_it_is_zero(ends: tuple[int, socket.socket], worker: _native.Frames) -> None:
    advice = {"kind": "value", "name": "cost"}
    agents = [{"name": "judge", "inputs": [{"name": "x", "dtype": "int8"}], "advice": advice}]
    declared = json.dumps({"task": "two", "agents": agents, "metrics": [{"name": "folded", "dtype": "bool"}]})
    host = _native.LearnerEnd(ends[0], declared, ["folded"])
    payload = _native.encode("bitstream", declared, 0, {"x": 1}, {"folded": False})
    for byte in (0, 1, 2):
        worker.send("observation", payload[:-1] + bytes([byte]))
    assert [host.receive(SECONDS).metrics for _ in range(3)] == [{"folded": 0}, {"folded": 1}, {"folded": 1}]


def test_silence_ends_at_the_deadline_and_nothing_is_lost(host: _native.LearnerEnd, ends: tuple[int, socket.socket]) -> None:
    ends[1].sendall(b"MLCB\1\2\0\0\0\0\0\0")
    with pytest.raises(_native.Timeout):
        host.receive(0.01)
    ends[1].sendall(b"\2\0\0\0{}")
    assert host.receive(SECONDS).text == "{}"


def test_declined_request_leaves_the_channel_open(ends: tuple[int, socket.socket], worker: _native.Frames, spec: TaskSpec) -> None:
    host = _native.LearnerEnd(ends[0])
    worker.decline("not this one")
    worker.send("hello", spec.json.encode())
    with pytest.raises(_native.PeerError, match="not this one"):
        host.hello("posetrl", json.dumps(PARAMETERS), [], SECONDS)
    assert host.hello("posetrl", json.dumps(PARAMETERS), [], SECONDS) == spec.json


def test_fifo_that_nobody_opens_times_out(tmp_path: os.PathLike[str]) -> None:
    base = os.path.join(tmp_path, "channel")
    for end in (".in", ".out"):
        os.mkfifo(base + end)
    with _native.LearnerEnd.fifo(base) as host, pytest.raises(_native.Timeout, match=r"nobody opened .*channel\.in in time"):
        host.connect(0.01)


def ask_twice(uri: str, dimension: int, advice: "Queue[int | float]") -> None:
    """A compiler whose embedding says which advice it hopes for."""
    with _native.Compiler.open(uri) as compiler:
        for hoped in (2, 0):
            tensors = {"embedding": np.full(dimension, hoped, np.float32), "action_mask": np.ones(3, np.int8)}
            advice.put(compiler.observe(0, tensors, {"size": 7}))
        compiler.end("stopped", 0, tensors, {"size": 5})


def test_shared_memory_that_nobody_comes_to_times_out_and_leaves_no_path(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with _native.LearnerEnd.shm(str(path)) as host, pytest.raises(_native.Timeout, match=r"nobody connected to .*s in time"):
        host.connect(0.01)
    assert not path.exists()


@pytest.mark.parametrize("dimension", [2, 300_000], ids=["small", "larger than the ring"])
def test_conversation_over_shared_memory_is_as_over_any_other_channel(tmp_path: Path, dimension: int) -> None:
    path, advice = tmp_path / "s", Queue[int | float]()
    with _native.LearnerEnd.shm(str(path)) as host:
        compiler = Thread(target=ask_twice, args=(f"shm:{path}?serdes=bitstream", dimension, advice))
        compiler.start()
        host.hello("posetrl", json.dumps(PARAMETERS | {"dimension": dimension}), ["size"], SECONDS)
        assert not path.exists()
        kept = []
        for index in (2, 0):
            kept.append(host.receive(SECONDS))
            host.advise(index, SECONDS)
        message = host.receive(SECONDS)
        for index, before in zip((2, 0), kept, strict=True):
            np.testing.assert_equal(before.tensors["embedding"], np.full(dimension, index, np.float32))
        assert (message.kind, message.reason, message.metrics) == ("episode_end", "stopped", {"size": 5})
        assert host.receive(SECONDS).kind == "bye"
    compiler.join(SECONDS)
    assert [advice.get_nowait() for _ in range(2)] == [2, 0]
