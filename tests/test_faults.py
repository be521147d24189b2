# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A peer is killed, stopped, or closes one half, at every point of a conversation, over every medium: the end under test says so within its
deadline, sleeps until then, and leaves nothing. A medium is a line of ``MEDIA``."""

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mlcb_gym import _native, toolchain
from mlcb_gym.spec import TaskSpec, bind
from tests.support.peers import (
    ADVICE,
    BEGIN,
    BYE,
    EPISODE_END,
    ERROR,
    HEADER,
    HELLO,
    OBSERVATION,
    Arrival,
    Fifos,
    Socket,
    Wire,
    another_process,
    fifo_compiler,
    fifo_learner,
    shm_compiler,
    shm_learner,
    socket_end,
)
from tests.support.posetrl import ACTIONS
from tests.support.processes import listed

PARAMETERS = {"actions": ["a", "b", "stop"], "dimension": 2, "history": 1}
SPEC = bind("posetrl", PARAMETERS)
OTHER = bind("posetrl", PARAMETERS | {"dimension": 75}).json.encode()
STATE = {"action_mask": np.array([1, 1, 0], np.int8)}
PATIENCE, DEADLINE = 10.0, 0.15
"""Seconds for what must happen, and for what does not."""
SLACK, OPT_SLACK = 4.0, 20.0
"""More than it costs to say so; opt starts and compiles as well, on a machine that may be busy."""
LEGAL = b"\1" + bytes(7)


@dataclass(frozen=True)
class Medium:
    """How both ends of a channel named by a path are made: under test, and by hand."""

    uri: Callable[[Path], str]
    host: Callable[[Path], _native.LearnerEnd]
    compiler: Callable[[Path], Arrival]
    learner: Callable[[Path], Arrival]


MEDIA = {
    "pipe": Medium(lambda path: f"pipe:{path}", lambda path: _native.LearnerEnd.fifo(str(path)), fifo_compiler, fifo_learner),
    "shm": Medium(lambda path: f"shm:{path}", lambda path: _native.LearnerEnd.shm(str(path)), shm_compiler, shm_learner),
}
FATES = {"pipe": ("killed", "stopped", "mute", "deaf")}
"""What may happen to a peer; a medium that is not here has no half that it could close without saying so."""

Part = Iterator[tuple[str, Wire | None]]
"""What a peer does: after each step the name of the point, and its end of the channel."""


def compiler_part(arrival: Arrival, *observations: bytes, end: bytes) -> Part:
    yield "before it comes", None
    yield "halfway in", next(arrival)
    wire = next(arrival)
    assert wire is not None
    yield "there", wire
    wire.hear()
    yield "Hello heard", wire
    yield from in_halves("Hello", wire, HELLO, SPEC.json.encode())
    for observation in observations:
        yield from in_halves("observation", wire, OBSERVATION, observation)
        wire.hear()
        yield "advice heard", wire
    yield from in_halves("episode end", wire, EPISODE_END, end)


def learner_part(arrival: Arrival, hello: bytes, advice: bytes = LEGAL) -> Part:
    yield "before it comes", None
    yield "halfway in", next(arrival)
    wire = next(arrival)
    assert wire is not None
    yield "there", wire
    yield from in_halves("Hello", wire, HELLO, hello)
    wire.hear()
    yield "Hello heard", wire
    wire.hear()
    yield "observation heard", wire
    yield from in_halves("advice", wire, ADVICE, advice)
    wire.hear()
    yield "second observation heard", wire
    yield from in_halves("Bye", wire, BYE)


def in_halves(name: str, wire: Wire, kind: int, payload: bytes = b"") -> Part:
    frame = wire.frame(kind, payload)
    wire.write(frame[: len(frame) // 2])
    yield f"half of {name}", wire
    wire.write(frame[len(frame) // 2 :])
    yield f"{name} said", wire


COMPILER_POINTS = (
    "before it comes",
    "halfway in",
    "there",
    "Hello heard",
    "half of Hello",
    "Hello said",
    "half of observation",
    "observation said",
    "advice heard",
    "half of episode end",
    "episode end said",
)
LEARNER_POINTS = (
    "before it comes",
    "halfway in",
    "there",
    "half of Hello",
    "Hello said",
    "Hello heard",
    "observation heard",
    "half of advice",
    "advice said",
    "second observation heard",
    "half of Bye",
)


def meets(fate: str, part: Part, point: str) -> None:
    """Plays up to a point and meets a fate there."""
    wire = next(wire for reached, wire in part if reached == point)
    if fate == "mute":
        assert wire is not None
        wire.mute()
    elif fate == "deaf":
        assert isinstance(wire, Fifos)
        wire.deafen()
    else:
        os.kill(os.getpid(), signal.SIGKILL if fate == "killed" else signal.SIGSTOP)


def cases(points: tuple[str, ...], media: dict[str, tuple[str, ...]]) -> list[tuple[str, str, str]]:
    """Who has not come yet has nothing to close."""
    return [
        (medium, fate, point)
        for medium, fates in media.items()
        for fate in fates
        for point in points
        if fate in ("killed", "stopped") or point not in points[:2]
    ]


def fates(media: list[str]) -> dict[str, tuple[str, ...]]:
    return {medium: FATES.get(medium, ("killed", "stopped", "mute")) for medium in media}


LEFT_SECONDS = 20.0


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> Iterator[None]:
    """No descriptor, thread, process or mapping; and a SIGPIPE would end the tests."""
    handler = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    before = held()
    yield
    until = time.monotonic() + LEFT_SECONDS
    while not held() <= before and time.monotonic() < until:  # gRPC starts threads of its own when it likes, and ends them
        time.sleep(0.1)
    assert held() <= before
    signal.signal(signal.SIGPIPE, handler)


def held() -> set[str]:
    """Descriptors, threads, children, and memory shared without a name."""
    me = Path("/proc/self")
    children = (me / "task" / str(os.getpid()) / "children").read_text().split()
    mapped = [line for line in (me / "maps").read_text().splitlines() if "memfd:" in line]
    return {*(f"fd {fd}" for fd in os.listdir(me / "fd")), *(f"thread {t}" for t in os.listdir(me / "task")), *children, *mapped}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where both ends meet."""
    for end in (".in", ".out"):
        os.mkfifo(tmp_path / f"x{end}")
    return tmp_path / "x"


@contextmanager
def ends_like(fate: str, point: str, seconds: float) -> Iterator[None]:
    """The end under test learns of the fate: at once, or at the deadline where the peer is merely silent; and sleeps meanwhile."""
    expected: set[type[Exception]] = {_native.PeerGone} if fate != "stopped" else {_native.Timeout}
    if point in ("before it comes", "halfway in"):
        expected.add(_native.Timeout)
    started, worked = time.monotonic(), time.thread_time()
    with pytest.raises(tuple(expected)) as caught:
        yield
    assert "\n" not in str(caught.value)
    elapsed = time.monotonic() - started
    assert elapsed < seconds + SLACK
    assert time.thread_time() - worked < 0.05 + elapsed / 10


def met(victim: int, fate: str) -> bool:
    """Whether the victim came to the point where its fate is."""
    if fate not in ("killed", "stopped"):
        return True
    deadline = time.monotonic() + SLACK
    while not (waited := os.waitpid(victim, os.WUNTRACED | os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    status = waited[1]
    return os.WIFSTOPPED(status) if fate == "stopped" else os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def deadlines(fate: str, point: str) -> tuple[float, ...]:
    """How long the end under test waits. Whoever is gone must be known long before. Silence lasts until then; where a busy machine did not
    let the peer come to its point in time, longer ones are tried."""
    return (DEADLINE, 10 * DEADLINE, PATIENCE) if fate == "stopped" or point in ("before it comes", "halfway in") else (PATIENCE,)


def observation() -> bytes:
    tensors = {t.name: np.ones(t.shape, t.dtype) for t in SPEC.agents[0].inputs}
    return _native.encode("bitstream", SPEC.json, 0, tensors)


def hello(parameters: dict[str, object] = PARAMETERS) -> bytes:
    return json.dumps({"task": "posetrl", "parameters": parameters, "serializer": "bitstream", "metrics": []}).encode()


def learn(host: _native.LearnerEnd, seconds: float) -> None:
    """A learner that takes the second action."""
    host.hello("posetrl", json.dumps(PARAMETERS), [], seconds)
    while host.receive(seconds).kind == "observation":
        host.advise(1, seconds)
    host.receive(seconds)


def ask(uri: str) -> None:
    """A compiler that asks three times."""
    with _native.Compiler.open(uri) as compiler:
        for _ in range(3):
            compiler.observe(0, STATE)


@pytest.mark.parametrize(("medium", "fate", "point"), cases(COMPILER_POINTS, fates(list(MEDIA))))
def test_learner_outlives_its_compiler(path: Path, medium: str, fate: str, point: str) -> None:
    made = MEDIA[medium]

    def outlives(seconds: float) -> bool:
        part = compiler_part(made.compiler(path), observation(), end=observation())
        with another_process(lambda: meets(fate, part, point)) as victim:
            with ends_like(fate, point, 3 * seconds), made.host(path) as host:
                learn(host, seconds)
            assert not path.exists()
            return met(victim, fate)

    assert any(map(outlives, deadlines(fate, point)))


@pytest.mark.parametrize(("_", "fate", "point"), cases(COMPILER_POINTS[2:], fates(["socket"])))
def test_learner_outlives_its_compiler_at_a_socket(_: str, fate: str, point: str) -> None:
    def outlives(seconds: float) -> bool:
        ours, theirs = socket.socketpair()

        def play() -> None:
            ours.close()
            meets(fate, compiler_part(socket_end(theirs), observation(), end=observation()), point)

        with ours, another_process(play) as victim:
            theirs.close()
            with ends_like(fate, point, 3 * seconds), _native.LearnerEnd(ours.detach()) as host:
                learn(host, seconds)
            return met(victim, fate)

    assert any(map(outlives, deadlines(fate, point)))


@pytest.mark.parametrize(("medium", "fate", "point"), cases(LEARNER_POINTS, fates(list(MEDIA))))
def test_compiler_outlives_its_learner(path: Path, medium: str, fate: str, point: str) -> None:
    made = MEDIA[medium]

    def outlives(seconds: float) -> bool:
        path.unlink(missing_ok=True)
        with another_process(lambda: meets(fate, learner_part(made.learner(path), hello()), point)) as victim:
            with ends_like(fate, point, 3 * seconds):
                ask(f"{made.uri(path)}?timeout={seconds}")
            return met(victim, fate)

    assert any(map(outlives, deadlines(fate, point)))


@pytest.mark.parametrize("medium", MEDIA)
def test_learner_that_answers_slowly_and_then_not_at_all_is_given_up(path: Path, medium: str) -> None:
    part = learner_part(MEDIA[medium].learner(path), hello())

    def play() -> None:
        next(point for point, _ in part if point == "observation heard")
        time.sleep(DEADLINE / 2)
        next(point for point, _ in part if point == "second observation heard")

    with another_process(play), _native.Compiler.open(f"{MEDIA[medium].uri(path)}?timeout={10 * DEADLINE}") as compiler:
        assert compiler.observe(0, STATE) == 1
        with ends_like("stopped", "second observation heard", 10 * DEADLINE):
            compiler.observe(0, STATE)


WRONG_FOR_ANYBODY = {
    "foreign": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not start with MLCB"),
    "version": (HEADER.pack(b"MLCB", 2, HELLO, 0, 0, 0, 0), "version 2"),
    "unknown kind": (HEADER.pack(b"MLCB", 1, 99, 0, 0, 0, 0), "unknown kind 99"),
    "oversized": (HEADER.pack(b"MLCB", 1, HELLO, 0, 0, 0, (64 << 20) + 1), "67108865 bytes, at most 67108864"),
    "out of order": (HEADER.pack(b"MLCB", 1, HELLO, 0, 0, 7, 0), "frame 7 came where frame 0 was due"),
}
WRONG_FOR_A_LEARNER = WRONG_FOR_ANYBODY | {
    "wrong kind": (HEADER.pack(b"MLCB", 1, OBSERVATION, 0, 0, 0, 0), "the answer to Hello is not a Hello"),
    "wrong digest": (HEADER.pack(b"MLCB", 1, HELLO, 0, 0, 0, len(OTHER)) + OTHER, "posetrl/embedding: compiler sends"),
}
WRONG_FOR_A_COMPILER = WRONG_FOR_ANYBODY | {
    "wrong kind": (HEADER.pack(b"MLCB", 1, ADVICE, 0, 0, 0, 0), "the first frame is not a Hello"),
    "no JSON": (HEADER.pack(b"MLCB", 1, HELLO, 0, 0, 0, 1) + b"{", "JSON"),
}


def says(part: Part, point: str, wrong: bytes) -> None:
    """Plays up to a point, says something wrong there, and is content if that is refused in an Error frame."""
    wire = next(wire for reached, wire in part if reached == point)
    assert wire is not None
    wire.write(wrong)
    while wire.hear()[0] != ERROR:
        pass
    os._exit(0)


@contextmanager
def refused(sentence: str) -> Iterator[None]:
    started = time.monotonic()
    with pytest.raises((_native.ProtocolError, _native.SpecMismatch, _native.InvalidArgument), match=sentence):
        yield
    assert time.monotonic() - started < SLACK


@pytest.mark.parametrize("wrong", WRONG_FOR_A_LEARNER)
@pytest.mark.parametrize("medium", MEDIA)
def test_learner_refuses_a_wrong_frame(path: Path, medium: str, wrong: str) -> None:
    frame, sentence = WRONG_FOR_A_LEARNER[wrong]
    made = MEDIA[medium]
    with another_process(lambda: says(compiler_part(made.compiler(path), end=b""), "Hello heard", frame)) as peer:
        with refused(sentence), made.host(path) as host:
            learn(host, PATIENCE)
        assert os.waitpid(peer, 0)[1] == 0


@pytest.mark.parametrize("wrong", WRONG_FOR_A_COMPILER)
@pytest.mark.parametrize("medium", MEDIA)
def test_compiler_refuses_a_wrong_frame(path: Path, medium: str, wrong: str) -> None:
    frame, sentence = WRONG_FOR_A_COMPILER[wrong]
    made = MEDIA[medium]
    with another_process(lambda: says(learner_part(made.learner(path), hello()), "there", frame)) as peer:
        with refused(sentence):
            ask(f"{made.uri(path)}?timeout={PATIENCE}")
        assert os.waitpid(peer, 0)[1] == 0


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        (b"\1\0\0\0", "advice of 4 bytes, expected 8"),
        ((99).to_bytes(8, "little"), "advice 99 for"),
        ((2).to_bytes(8, "little"), "advice 2 for .* is masked"),
    ],
    ids=["truncated", "out of range", "masked"],
)
@pytest.mark.parametrize("medium", MEDIA)
def test_compiler_refuses_wrong_advice(path: Path, medium: str, payload: bytes, sentence: str) -> None:
    made = MEDIA[medium]
    wrong = HEADER.pack(b"MLCB", 1, ADVICE, 0, 0, 1, len(payload)) + payload
    with another_process(lambda: says(learner_part(made.learner(path), hello()), "observation heard", wrong)) as peer:
        with refused(sentence):
            ask(f"{made.uri(path)}?timeout={PATIENCE}")
        assert os.waitpid(peer, 0)[1] == 0


@pytest.mark.parametrize("medium", MEDIA)
def test_learner_refuses_a_truncated_payload(path: Path, medium: str) -> None:
    made = MEDIA[medium]
    short = observation()[:-8]
    wrong = HEADER.pack(b"MLCB", 1, OBSERVATION, 0, 0, 1, len(short)) + short
    with another_process(lambda: says(compiler_part(made.compiler(path), end=b""), "Hello said", wrong)) as peer:
        with refused("needs"), made.host(path) as host:
            learn(host, PATIENCE)
        assert os.waitpid(peer, 0)[1] == 0


# A real compiler.


def real_spec() -> TaskSpec:
    return bind("posetrl", {"actions": ACTIONS, "vocabulary": toolchain.vocabulary_digest()})


OPT_POINTS = tuple(point for point in LEARNER_POINTS if point not in ("Hello said", "advice said", "half of Bye"))


@pytest.mark.parametrize(("medium", "fate", "point"), cases(OPT_POINTS, fates(list(MEDIA))))
def test_opt_ends_with_one_line_when_its_learner_fails(path: Path, bitcode: Path, medium: str, fate: str, point: str) -> None:
    made, output = MEDIA[medium], path.with_name("out.bc")

    def outlives(seconds: float) -> bool:
        path.unlink(missing_ok=True)
        part = learner_part(made.learner(path), hello(dict(real_spec().parameters)))
        with another_process(lambda: meets(fate, part, point)) as victim:
            runner = f"-mlcb-runner={made.uri(path)}?timeout={seconds}"
            command: list[str | Path] = [
                toolchain.tool("opt"),
                f"-load-pass-plugin={toolchain.plugin()}",
                "-passes=posetrl",
                runner,
                bitcode,
                "-o",
                output,
            ]
            ended = subprocess.run(command, env=toolchain.environment(), capture_output=True, text=True, timeout=3 * seconds + OPT_SLACK)
            assert (ended.returncode, ended.stdout) == (1, "")
            assert len(ended.stderr.splitlines()) == 1
            assert "mlcb: " in ended.stderr
            assert not output.exists()
            return met(victim, fate)

    assert any(map(outlives, deadlines(fate, point)))


@pytest.fixture(scope="session")
def bitcode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mlcb_gym.corpus.bitcode import bitcode
    from tests.support.posetrl import SOURCE

    source = tmp_path_factory.mktemp("faults") / "sum.c"
    source.write_text(SOURCE)
    return bitcode(source)


def worker_part(control: socket.socket, program: Path) -> Part:
    """A learner and its worker, then a learner and its episode."""
    wire = Socket(control)
    yield "there", wire
    yield from in_halves("Hello", wire, HELLO, hello(dict(real_spec().parameters)))
    wire.hear()
    ours, theirs = socket.socketpair()
    request = {"digest": real_spec().digest, "program": str(program)}
    frame = wire.frame(BEGIN, json.dumps(request).encode())
    wire.write_with(frame[:20], theirs.fileno())
    yield "half of Begin", wire
    wire.write(frame[20:])
    theirs.close()
    yield "Begin said", wire
    episode = Socket(ours)
    episode.hear()
    episode.hear()
    yield "observation heard", wire
    yield from in_halves("advice", episode, ADVICE, LEGAL)


WORKER_POINTS = ("there", "half of Hello", "Hello said", "half of Begin", "Begin said", "observation heard", "half of advice", "advice said")


@pytest.mark.parametrize("point", WORKER_POINTS)
def test_worker_sleeps_while_its_learner_is_stopped_and_ends_with_it(bitcode: Path, point: str) -> None:
    ours, theirs = socket.socketpair()

    def play() -> None:
        theirs.close()
        meets("stopped", worker_part(ours, bitcode), point)

    with running_worker(theirs) as worker, another_process(play) as learner:
        ours.close()
        theirs.close()
        assert met(learner, "stopped")
        assert falls_asleep(worker.pid)
        everybody = [os.pidfd_open(pid) for pid in family(worker.pid)]
        os.kill(learner, signal.SIGKILL)
        assert end(everybody)
        assert worker.wait(PATIENCE) == 0


@contextmanager
def running_worker(control: socket.socket) -> Iterator[subprocess.Popen[bytes]]:
    command: list[str | Path] = [toolchain.worker(), "--control-fd", str(control.fileno())]
    worker = subprocess.Popen(command, pass_fds=[control.fileno()], env=toolchain.environment())
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


def family(pid: int) -> list[int]:
    return [pid, *listed(pid)]


def end(watched: list[int]) -> bool:
    """Whether the processes of these pidfds all end; closes the pidfds."""
    ended = [bool(select.select([fd], [], [], PATIENCE)[0]) for fd in watched]
    for fd in watched:
        os.close(fd)
    return all(ended)


def falls_asleep(pid: int) -> bool:
    """Whether a process and its children come to rest."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        before = ticks(pid)
        select.select([], [], [], DEADLINE)
        after = ticks(pid)
        if after.keys() == before.keys() and sum(after.values()) <= sum(before.values()) + 1:
            return True
    return False


def ticks(pid: int) -> dict[int, int]:
    """CPU time that a process and its children took, in the kernel's ticks; of those that do not end meanwhile."""
    taken = {}
    for member in family(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            taken[member] = sum(map(int, Path(f"/proc/{member}/stat").read_text().rsplit(")")[1].split()[11:13]))
    return taken
