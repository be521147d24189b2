# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What many large messages leave in memory, at both ends: the compiler is `rtt.cpp`, the learner this process."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.report import Figure, resident_megabytes
from benchmarks.rtt import COMPILER, SECONDS, SERIALIZERS
from mlcb_gym import _native

LENGTH = 50_000
WARM = 500
"""Messages after which every buffer has its size."""
COUNTS = {"bitstream": 100_000, "protobuf": 10_000, "json": 5_000}
MEDIA: dict[str, Callable[[str], _native.LearnerEnd]] = {"pipe": _native.LearnerEnd.fifo, "shm": _native.LearnerEnd.shm}


def figures() -> Iterator[Figure]:
    for medium, listen in MEDIA.items():
        for serializer, count in COUNTS.items():
            learner, compiler = _growth(medium, listen, serializer, count)
            note = f"{count} messages of {LENGTH} floats"
            yield Figure(f"{medium} + {serializer}: growth of the learner", learner, "MB", 1, note=note)
            yield Figure(f"{medium} + {serializer}: growth of the compiler", compiler, "MB", 1)


def _growth(medium: str, listen: Callable[[str], _native.LearnerEnd], serializer: str, count: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="mlcb-") as folder:
        base = str(Path(folder) / medium)
        for end in (".in", ".out"):
            os.mkfifo(base + end)
        uri = f"{medium}:{base}?serdes={serializer}"
        with (
            listen(base) as host,
            subprocess.Popen([COMPILER, "repeat", uri, str(LENGTH), str(count)], env=os.environ | {"MLCB_SERIALIZERS": SERIALIZERS}) as compiler,
        ):
            host.hello("regression", json.dumps({"length": LENGTH}), [], SECONDS, serializer=serializer)
            _answer(host, WARM)
            before = [resident_megabytes(pid) for pid in (os.getpid(), compiler.pid)]
            _answer(host, count - WARM - 1)
            after = [resident_megabytes(pid) for pid in (os.getpid(), compiler.pid)]
            _answer(host, 1)
            if host.receive(SECONDS).kind != "bye" or compiler.wait(SECONDS) != 0:
                raise RuntimeError(f"{uri}: the compiler did not ask {count} times")
    return after[0] - before[0], after[1] - before[1]


def _answer(host: _native.LearnerEnd, count: int) -> None:
    for _ in range(count):
        host.advise(float(host.receive(SECONDS).tensors["x"][0]))
