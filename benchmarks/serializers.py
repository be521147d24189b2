# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each serializer costs: an observation of PosetRL written by a compiler's end and read by a learner's, in one thread."""

import socket
import struct
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.report import Figure
from mlcb_gym import _native
from mlcb_gym.envs.action_lists import read_actions
from mlcb_gym.spec import TaskSpec, bind

SERIALIZERS = ("bitstream", "json", "protobuf")
ROUNDS, SEED, SECONDS = 2000, 1, 10.0


def figures() -> Iterator[Figure]:
    spec = bind("posetrl", {"actions": list(read_actions("odg"))})
    for name in SERIALIZERS:
        payload, written = _write_seconds(spec, name)
        read = _read_seconds(spec, name, payload)
        note = f"{1e6 * written:.1f} + {1e6 * read:.1f} us, {len(payload)} bytes; each with its frame through a socket"
        yield Figure(f"{name}: written + read", 1e6 * (written + read), "us", note=note)


def _write_seconds(spec: TaskSpec, serializer: str) -> tuple[bytes, float]:
    """An observation's payload, and the median seconds of writing it; the advice waits in the socket."""
    ours, theirs = socket.socketpair()
    frames = _native.Frames(ours.detach())
    with _native.Compiler.serve(theirs.detach(), spec.json, serializer=serializer) as compiler:
        frames.receive(SECONDS)  # its greeting
        tensors, payload = _tensors(spec), b""

        def answer_before() -> None:
            frames.send("advice", struct.pack("<q", 0))

        def observe() -> None:
            compiler.observe(0, {})

        def drain() -> None:
            nonlocal payload
            payload = frames.receive(SECONDS)[3]

        answer_before()
        compiler.observe(0, tensors)
        drain()
        return payload, _median_seconds(observe, before=answer_before, after=drain)


def _read_seconds(spec: TaskSpec, serializer: str, payload: bytes) -> float:
    """Median seconds of reading a payload, arrays included."""
    ours, theirs = socket.socketpair()
    frames = _native.Frames(theirs.detach())
    with _native.LearnerEnd(ours.detach(), spec.json, serializer=serializer) as host:
        return _median_seconds(lambda: host.receive(SECONDS), before=lambda: frames.send("observation", payload), after=lambda: None)


def _tensors(spec: TaskSpec) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(SEED)
    tensors = {t.name: rng.integers(0, 1000, t.shape).astype(t.dtype) for t in spec.agents[0].inputs}
    embedding = rng.normal(0, 100, tensors["embedding"].shape).astype(np.float32)
    return tensors | {"embedding": embedding, "action_mask": np.ones_like(tensors["action_mask"])}


def _median_seconds(call: Callable[[], object], *, before: Callable[[], None], after: Callable[[], None]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        before()
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
        after()
    return float(np.median(seconds))
