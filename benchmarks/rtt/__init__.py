# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""100 questions to a fully connected layer of one output, per runner and serializer, against the floors of the same run.

Vectors of 500 to 50 000 floats by 500. The compiler is C++ (`rtt.cpp`), the model NumPy in this process or a runner's own. Each question is
asked once before the clock runs; then the median of nine counts, the fastest of five rounds. A floor is C++ at both ends (`floors.cpp`,
`grpc_floor.cpp`, `onnx_floor.cpp`); JSON is held against nlohmann's dump and Python's json.loads, without the way between. A new runner or
serializer is a line of ``ROWS``.
"""

import json
import os
import subprocess
import tempfile
import timeit
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.report import Figure
from benchmarks.rtt.model import LENGTHS, answer, weights, write_policy
from mlcb_gym import _native
from mlcb_gym.export.aot import compile_policy

COMPILER = Path("build/bench/benchmarks/rtt/rtt")
SERIALIZERS = "build/bench/native"
SECONDS = 60.0
ROUNDS, REPEATS = 5, 9
FLOORS = ("dot", "fifo", "shm", "grpc", "onnx-packed", "onnx-plain", "json-dump")
OBSERVATION = ("socket", "pipe", "shm")


@dataclass(frozen=True)
class Row:
    """A runner: how it is asked, and what it is held against, as a ratio."""

    name: str
    ask: Callable[[Path], list[float]]
    floor: str
    must: float
    aim: float


def figures() -> Iterator[Figure]:
    times = _fastest()
    times["onnx"] = min(times["onnx-packed"], times["onnx-plain"])
    times["json"] = times["json-dump"] + times["json-loads"]
    for floor in (*FLOORS, "json-loads", "onnx", "json"):
        yield Figure(f"floor: {floor}", 1e3 * times[floor], "ms")
    for row in (*ROWS, *IN_PROCESS):
        note = f"{1e3 * times[row.name]:.2f} ms"
        yield Figure(f"{row.name} / {row.floor} floor", times[row.name] / times[row.floor], "x", row.must, row.aim, note=note)
    for kind in OBSERVATION:
        note = f"socket / {kind}: {times['observation socket'] / times[f'observation {kind}']:.2f}"
        yield Figure(f"PosetRL observation and advice, {kind}", 1e6 * times[f"observation {kind}"], "us", note=note)


def _fastest() -> dict[str, float]:
    """Total seconds of every floor and row; of each length the fastest of rounds that ask all, so that what else runs meets each alike."""
    with tempfile.TemporaryDirectory(prefix="mlcb-") as name:
        models = Path(name)
        for length in LENGTHS:
            write_policy(models / "onnx" / str(length), length)
            compile_policy(models / "onnx" / str(length), models / "aot" / f"{length}.so")
        rounds = [_round(models) for _ in range(ROUNDS)]
    return {name: float(np.min([times[name] for times in rounds], axis=0).sum()) for name in rounds[0]}


def _round(models: Path) -> dict[str, list[float]]:
    """Seconds of every length."""
    with tempfile.TemporaryDirectory(prefix="mlcb-") as name:
        floors = {floor: _lengths("floor", floor, str(models / "onnx")) for floor in FLOORS}
        rows = {row.name: row.ask(Path(name)) for row in ROWS} | {row.name: row.ask(models) for row in IN_PROCESS}
        observation = {f"observation {kind}": _seconds("observation", kind) for kind in OBSERVATION}
        return floors | rows | observation | {"json-loads": [_loads_seconds(length) for length in LENGTHS]}


def _over_pipe(folder: Path, serializer: str) -> list[float]:
    base = str(folder / f"pipe-{serializer}")
    for length in LENGTHS:
        for end in (".in", ".out"):
            os.mkfifo(f"{base}-{length}{end}")
    return _served(f"pipe:{base}-{{}}?serdes={serializer}", serializer, lambda length: _native.LearnerEnd.fifo(f"{base}-{length}"))


def _over_shm(folder: Path, serializer: str) -> list[float]:
    base = str(folder / f"shm-{serializer}")
    return _served(f"shm:{base}-{{}}?serdes={serializer}", serializer, lambda length: _native.LearnerEnd.shm(f"{base}-{length}"))


def _over_grpc(folder: Path, serializer: str) -> list[float]:
    with closing(_native.Grpc("grpc://127.0.0.1:0", True)) as place:
        return _served(f"grpc://{place.address}?serdes={serializer}", serializer, lambda _: place.host())


def _in_process(models: Path, uri: str) -> list[float]:
    return _lengths("ask", uri.format(models=models, length="{}"))


ROWS = (
    Row("pipe + bitstream", partial(_over_pipe, serializer="bitstream"), "fifo", 1.6, 1.2),
    Row("pipe + protobuf", partial(_over_pipe, serializer="protobuf"), "fifo", 3, 2),
    Row("pipe + json", partial(_over_pipe, serializer="json"), "json", 1 / 2.5, 1 / 4),
    Row("shm + bitstream", partial(_over_shm, serializer="bitstream"), "shm", 2, 1.3),
    Row("grpc + bitstream", partial(_over_grpc, serializer="bitstream"), "grpc", 1.5, 1.2),
    Row("grpc + protobuf", partial(_over_grpc, serializer="protobuf"), "grpc", 3, 2),
    Row("grpc + json", partial(_over_grpc, serializer="json"), "json", 1 / 2.5, 1 / 4),
)
IN_PROCESS = (
    Row("onnx", partial(_in_process, uri="onnx:{models}/onnx/{length}"), "onnx", 1.5, 1.2),
    Row("aot", partial(_in_process, uri="aot:{models}/aot/{length}.so"), "dot", 3, 2),
)


def _served(uri: str, serializer: str, listen: Callable[[int], _native.LearnerEnd]) -> list[float]:
    """Seconds of a compiler that this process serves, one conversation a length."""
    environment = os.environ | {"MLCB_SERIALIZERS": SERIALIZERS}
    with subprocess.Popen([COMPILER, "ask", uri], stdout=subprocess.PIPE, text=True, env=environment) as compiler:
        for length in LENGTHS:
            with listen(length) as host:
                host.hello("regression", json.dumps({"length": length}), [], SECONDS, serializer=serializer)
                _serve(host, weights(length))
        return _checked(compiler.communicate(timeout=SECONDS)[0])


def _serve(host: _native.LearnerEnd, layer: np.ndarray) -> None:
    while (message := host.receive(SECONDS)).kind == "observation":
        host.advise(float(layer.dot(message.tensors["x"])))


def _loads_seconds(length: int) -> float:
    """Median seconds in which Python's own module reads a vector, written in the fewest digits of float32."""
    text = '{"x":[' + ",".join(map(str, weights(length))) + "]}"
    return median(timeit.repeat(lambda: json.loads(text), number=1, repeat=REPEATS))


def _lengths(*arguments: str) -> list[float]:
    return _checked(_run(*arguments))


def _seconds(*arguments: str) -> list[float]:
    return [float(line.split()[1]) for line in _run(*arguments).splitlines()]


def _run(*arguments: str) -> str:
    return subprocess.run([COMPILER, *arguments], check=True, stdout=subprocess.PIPE, text=True, timeout=SECONDS).stdout


def _checked(output: str) -> list[float]:
    """The seconds of every length; the answers must be right."""
    lines = [line.split() for line in output.splitlines()]
    if [int(length) for length, _, _ in lines] != list(LENGTHS):
        raise RuntimeError("the compiler did not ask every length")
    np.testing.assert_allclose([float(given) for _, _, given in lines], [answer(length) for length in LENGTHS], atol=0.01)
    return [float(seconds) for _, seconds, _ in lines]
