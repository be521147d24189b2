# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Untouched compilers of LLVM's as sessions: their own advisors ask, whatever happens is one line, and nothing is left behind."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcb_gym import _native, toolchain
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.errors import CompilerError, SessionLost, TaskError
from mlcb_gym.session import EVICTION, INLINER, PRIORITY, Episode, EpisodeRequest, Limits, ModelServer, StockSession, WorkerSession
from mlcb_gym.session.objects import object_metrics
from mlcb_gym.spec import TaskSpec
from tests.support.processes import descriptors, listed, no_more_descriptors, signal_only
from tests.support.stock import MODULE_INLINER, compilers, declare, inliner, opt

#: Of the eviction advisor, [1, 33] each; the mask and the last, progress, are apart.
EVICTION_FEATURES = {
    **dict.fromkeys(["is_free", "is_hint", "is_local", "max_stage", "min_stage"], "int64"),
    **dict.fromkeys(["nr_urgent", "nr_broken_hints", "nr_rematerializable", "nr_defs_and_uses", "liverange_size", "use_def_density"], "float32"),
    **dict.fromkeys([f"weighed_{what}_by_max" for what in ("reads", "writes", "read_writes", "indvars")], "float32"),
    **dict.fromkeys([f"{what}_by_max" for what in ("hint_weights", "start_bb_freq", "end_bb_freq", "hottest_bb_freq")], "float32"),
}
GREEDY = ["-O2", "-filetype=obj", "-mtriple=x86_64-linux-gnu", "-relocation-model=pic"]

Tensors = Mapping[str, Any]
Choose = Callable[[Tensors], int | float]


@pytest.fixture
def eviction() -> TaskSpec:
    mask = {"name": "mask", "dtype": "int8", "shape": [33], "role": "mask"}
    inputs = [{"name": name, "dtype": dtype, "shape": [33]} for name, dtype in EVICTION_FEATURES.items()]
    progress = {"name": "progress", "dtype": "float32"}
    return declare("stock_eviction", [mask, *inputs, progress], {"kind": "argmax", "name": "index_to_evict", "choices": 33})


@pytest.fixture
def priority() -> TaskSpec:
    inputs = [{"name": "li_size", "dtype": "int64"}, {"name": "stage", "dtype": "int64"}, {"name": "weight", "dtype": "float32"}]
    return declare("stock_priority", inputs, {"kind": "value", "name": "priority"})


@pytest.fixture
def program() -> Path:
    return resolve("embedded/train/lru_cache")[0].bitcode


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """More values alive in a loop than there are registers."""
    names = [f"v{i}" for i in range(40)]
    turn = " ".join(f"{a} = {a} * {b} + {a} / ({c} | 1);" for a, b, c in zip(names, names[1:] + names[:1], names[2:] + names[:2], strict=True))
    source, optimized = tmp_path / "crowded.c", tmp_path / "crowded.bc"
    source.write_text(f"long crowded(long n, long {', long '.join(names)}) {{ for (; n; n--) {{ {turn} }} return {' ^ '.join(names)}; }}")
    subprocess.run([toolchain.tool("clang"), "-O2", "-c", "-emit-llvm", source, "-o", optimized], check=True)
    return optimized


@pytest.fixture
def nothing_to_inline(leaf: Path) -> Path:
    return resolve(leaf)[0].bitcode


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test may leave a temporary file, a descriptor or a process."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    before, processes = descriptors("self"), set(listed(os.getpid()))
    yield
    assert list(scratch.iterdir()) == []
    assert no_more_descriptors(before)
    assert set(listed(os.getpid())) <= processes


def play(episode: Episode, choose: Choose) -> list[_native.Message]:
    """Every message of an episode."""
    with closing(episode):
        messages = [episode.receive()]
        while messages[-1].kind == "observation":
            episode.advise(choose(messages[-1].tensors))
            messages.append(episode.receive())
    return messages


def by_default(tensors: Tensors) -> int:
    return int(tensors["inlining_default"])


def last_allowed(tensors: Tensors) -> int:
    return int(np.flatnonzero(tensors["mask"])[-1])


def test_opt_asks_at_every_call_and_the_default_gives_what_opt_alone_gives(program: Path, tmp_path: Path) -> None:
    kept, alone = tmp_path / "kept.bc", tmp_path / "alone.bc"
    *asked, end = play(opt(keep=kept).begin(inliner(), EpisodeRequest(program)), by_default)
    assert (end.kind, end.reason) == ("episode_end", "exhausted")
    assert len(asked) > 1
    assert all(message.tensors["callsite_cost"].dtype == np.int64 for message in asked)
    np.testing.assert_equal(end.tensors, asked[-1].tensors)
    subprocess.run([toolchain.tool("opt"), *MODULE_INLINER, program, "-o", alone], check=True)
    assert kept.read_bytes() == alone.read_bytes()


def test_decisions_are_obeyed(program: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.bc"
    never = play(opt(keep=kept).begin(inliner(), EpisodeRequest(program)), lambda _: 0)
    size = kept.stat().st_size
    default = play(opt(keep=kept).begin(inliner(), EpisodeRequest(program)), by_default)
    assert (len(never), size) != (len(default), kept.stat().st_size)


@pytest.mark.parametrize("level", ["-Oz", "-O2"])
def test_clang_asks(program: Path, level: str) -> None:
    session = StockSession("clang", [level, "-c"], advisor=INLINER)
    *asked, end = play(session.begin(inliner(), EpisodeRequest(program)), by_default)
    assert asked
    assert end.kind == "episode_end"


def test_llc_asks_what_to_evict(crowded: Path, eviction: TaskSpec) -> None:
    session = StockSession("llc", GREEDY, advisor=EVICTION)
    *asked, end = play(session.begin(eviction, EpisodeRequest(crowded)), last_allowed)
    assert end.kind == "episode_end"
    assert {message.tensors["mask"].shape for message in asked} == {(33,)}
    assert {message.tensors["mask"].dtype for message in asked} == {np.dtype(np.int8)}
    assert all(message.text for message in asked), "the function that is asked about"
    assert np.unique([message.tensors["mask"].sum() for message in asked]).size > 1


def test_llc_asks_for_priorities(program: Path, priority: TaskSpec) -> None:
    session = StockSession("llc", GREEDY, advisor=PRIORITY)
    *asked, end = play(session.begin(priority, EpisodeRequest(program)), lambda tensors: float(tensors["weight"]))
    assert end.kind == "episode_end"
    assert len(asked) > 1
    assert {tuple(message.tensors) for message in asked} == {("li_size", "stage", "weight")}


def test_what_the_compiler_wrote_is_measured_against_the_default(program: Path) -> None:
    request = EpisodeRequest(program, metrics=("text", "text_default", "ir_instructions"), measure="end")
    with closing(opt()) as session:
        *asked, default = play(session.begin(inliner(), request), by_default)
        *_, never = play(session.begin(inliner(), request), lambda _: 0)
    assert all(message.metrics == {} for message in asked)
    assert default.metrics["text"] == default.metrics["text_default"] == never.metrics["text_default"]
    assert never.metrics["text"] != default.metrics["text"]
    assert never.metrics["ir_instructions"] > 0


def test_program_that_was_rewritten_has_its_own_default(program: Path, crowded: Path, tmp_path: Path) -> None:
    defaults = []
    with closing(opt()) as session:
        for content in program, crowded:
            same = Path(shutil.copy(content, tmp_path / "same.bc"))
            defaults.append(play(session.begin(inliner(), EpisodeRequest(same, ("text_default",), "end")), by_default)[-1].metrics)
    assert defaults[0] != defaults[1]


def test_output_that_is_no_object_is_not_what_was_decided(program: Path) -> None:
    def measure(output: Path, names: Sequence[str]) -> dict[str, float]:
        return object_metrics(Path(__file__), names)

    with pytest.raises(SessionLost, match=r"test_stock.py: cannot be read, expected an object file$"):
        play(opt(measure=measure).begin(inliner(), EpisodeRequest(program, ("text",), "end")), by_default)


def test_other_outputs_are_measured_as_one_is_told(crowded: Path, eviction: TaskSpec) -> None:
    def measure(output: Path, names: Sequence[str]) -> dict[str, float]:
        return {name: output.stat().st_size for name in names}

    session = StockSession("llc", GREEDY, advisor=EVICTION, measure=measure)
    request = EpisodeRequest(crowded, metrics=("bytes", "bytes_default"), measure="end")
    *_, end = play(session.begin(eviction, request), last_allowed)
    assert list(end.metrics) == ["bytes_default", "bytes"]
    assert min(end.metrics.values()) > 1000


def test_nothing_is_measured_before_the_end_is_received(program: Path) -> None:
    measured: list[Path] = []

    def measure(output: Path, names: Sequence[str]) -> dict[str, float]:
        measured.append(output)
        return dict.fromkeys(names, 1.0)

    request = EpisodeRequest(program, metrics=("x", "x_default"), measure="end")
    decisions = len(play(opt().begin(inliner(), EpisodeRequest(program)), by_default)) - 1
    with closing(opt(measure=measure).begin(inliner(), request)) as episode:
        for _ in range(decisions):
            episode.advise(by_default(episode.receive().tensors))
        while not episode.ready():
            select.select([episode], [], [], 10)
        assert not measured
        assert episode.receive().metrics == {"x": 1.0, "x_default": 1.0}


@pytest.mark.parametrize("metric", ["text", "text_default"])
def test_measuring_that_fails_is_not_what_was_decided(program: Path, metric: str) -> None:
    def measure(output: Path, names: Sequence[str]) -> dict[str, float]:
        raise CompilerError("does not compile")

    request = EpisodeRequest(program, metrics=(metric,), measure="end")
    with pytest.raises(SessionLost, match="does not compile"):
        play(opt(measure=measure).begin(inliner(), request), by_default)


def test_measuring_has_the_limits_of_the_episode(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Limits] = []
    begin = WorkerSession.begin

    def noted(session: WorkerSession, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        asked.append(request.limits)
        return begin(session, spec, request)

    monkeypatch.setattr(WorkerSession, "begin", noted)
    limits = Limits(cpu_seconds=50)
    with closing(opt()) as session:
        play(session.begin(inliner(), EpisodeRequest(program, ("text", "text_default"), "end", limits=limits)), by_default)
    assert asked == [limits, limits]


def test_model_server_answers_a_compiler_that_somebody_else_starts(program: Path, tmp_path: Path) -> None:
    served, alone = tmp_path / "served.bc", tmp_path / "alone.bc"
    base = tmp_path / "channel"
    asked: list[str] = []

    def model(agent: str, tensors: Tensors) -> int:
        asked.append(agent)
        return by_default(tensors)

    options = [option.format(base=base) for option in INLINER]
    with ModelServer(f"mlgo:{base}", task=inliner().json) as server:
        compiler = subprocess.Popen([toolchain.tool("opt"), *MODULE_INLINER, *options, program, "-o", served])
        try:
            server.answer(model, seconds=10)
            assert compiler.wait(10) == 0
        finally:
            compiler.kill()  # left alone it would spin
            compiler.wait()
    subprocess.run([toolchain.tool("opt"), *MODULE_INLINER, program, "-o", alone], check=True)
    assert set(asked) == {"advisor"}
    assert served.read_bytes() == alone.read_bytes()


@pytest.mark.parametrize(("uri", "task"), [("mlgo:x", None), ("pipe:x", "{}"), ("mlgo:x?serdes=json", "{}")])
def test_task_is_declared_for_mlgo_alone(uri: str, task: str | None) -> None:
    with pytest.raises(TaskError, match="a task is declared for mlgo:BASE, and for nothing else"):
        ModelServer(uri, task=task)


def test_parameters_of_the_task_are_part_of_the_command(program: Path) -> None:
    bound = TaskSpec(json.dumps(dict(inliner().declared) | {"parameters": {"pipeline": "verify"}}))
    (end,) = play(StockSession("opt", ["-passes={pipeline}"], advisor=INLINER).begin(bound, EpisodeRequest(program)), by_default)
    assert end.reason == "no_decisions"


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"base": "x"}, "stock_inliner: a parameter has the name 'base'"),
        ({"passes": "verify"}, r"'-passes=\{pipeline\}': \{pipeline\} is no parameter of stock_inliner, expected one of base, passes"),
    ],
    ids=["base", "unknown"],
)
def test_command_that_cannot_be_made_is_one_sentence(program: Path, parameters: dict[str, str], sentence: str) -> None:
    bound = TaskSpec(json.dumps(dict(inliner().declared) | {"parameters": parameters}))
    with pytest.raises(TaskError, match=sentence):
        StockSession("opt", ["-passes={pipeline}"], advisor=INLINER).begin(bound, EpisodeRequest(program))


def test_command_is_held_against_the_task_before_any_episode() -> None:
    with pytest.raises(TaskError, match=r"'-mtriple=\{triple\}': \{triple\} is no parameter of posetrl"):
        StockSession("opt", ["-mtriple={triple}"], advisor=INLINER).configure("posetrl", {})


def test_metrics_of_every_state_are_refused(program: Path) -> None:
    with pytest.raises(TaskError, match="cannot be measured before its end: size: use the worker"):
        opt().begin(inliner(), EpisodeRequest(program, metrics=("size",)))


def test_compiler_that_never_opens_its_pipes_ends_without_decisions(nothing_to_inline: Path) -> None:
    (end,) = play(opt().begin(inliner(), EpisodeRequest(nothing_to_inline)), by_default)
    assert (end.kind, end.reason) == ("episode_end", "no_decisions")
    (end,) = play(StockSession("opt", ["-passes=verify"], advisor=INLINER).begin(inliner(), EpisodeRequest(nothing_to_inline)), by_default)
    assert (end.kind, end.reason) == ("episode_end", "no_decisions")


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (inliner(threshold={"dtype": "float32"}), r"stock_inliner/threshold: compiler sends int64\[1\], this build expects float32\[\]"),
        (inliner(threshold={"name": "limit"}), "stock_inliner/limit: compiler sends nothing, this build expects it"),
        (declare("one", [], {"kind": "value", "name": "x"}), "one/sroa_savings: compiler sends it, this build expects nothing"),
    ],
    ids=["type", "name", "more"],
)
def test_another_task_than_the_compiler_asks_is_one_sentence(program: Path, spec: TaskSpec, sentence: str) -> None:
    with pytest.raises(TaskError, match=sentence):
        play(opt().begin(spec, EpisodeRequest(program)), by_default)


def test_barred_index_is_refused_before_it_reaches_the_compiler(crowded: Path, eviction: TaskSpec) -> None:
    with closing(StockSession("llc", GREEDY, advisor=EVICTION).begin(eviction, EpisodeRequest(crowded))) as episode:
        masked = int(np.flatnonzero(episode.receive().tensors["mask"] == 0)[0])
        episode.advise(masked)
        with pytest.raises(SessionLost, match=f"advice {masked} for index_to_evict is masked"):
            episode.receive()


def test_program_that_is_no_bitcode_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.bc"
    broken.write_bytes(b"BC\xc0\xde broken")
    with pytest.raises(CompilerError, match=r"broken.bc: error: "):
        play(opt().begin(inliner(), EpisodeRequest(broken)), by_default)


def test_killed_compiler_is_lost(program: Path) -> None:
    with closing(opt().begin(inliner(), EpisodeRequest(program))) as episode:
        episode.receive()
        signal_only(compilers(), signal.SIGKILL)
        episode.advise(0)
        with pytest.raises(SessionLost, match=r"opt was killed \(SIGKILL\)"):
            episode.receive()


@pytest.mark.alone
def test_silent_compiler_is_ended_at_the_deadline(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "GRACE_SECONDS", 0.2)
    with closing(opt().begin(inliner(), EpisodeRequest(program, limits=Limits(turn_seconds=1.0)))) as episode:
        episode.receive()
        signal_only(compilers(), signal.SIGSTOP)
        episode.advise(0)
        with pytest.raises(SessionLost, match=r"silent for 1.2 s"):
            episode.receive()


def test_compiler_beyond_its_cpu_time_has_crashed(program: Path) -> None:
    with closing(opt().begin(inliner(), EpisodeRequest(program, limits=Limits(cpu_seconds=1)))) as episode:
        episode.receive()
        signal_only(compilers(), signal.SIGXCPU)
        with pytest.raises(CompilerError, match=r"opt crashed \(SIGXCPU\)"):
            episode.receive()


def test_closing_in_mid_episode_ends_the_compiler(program: Path) -> None:
    episode = opt().begin(inliner(), EpisodeRequest(program))
    episode.receive()
    episode.close()
    episode.close()
    assert compilers() == []


ORPHAN = """
import sys
from pathlib import Path
from mlcb_gym.session import EpisodeRequest
from tests.support.stock import compilers, inliner, opt
episode = opt().begin(inliner(), EpisodeRequest(Path(sys.argv[1])))
episode.receive()
print(*compilers(), flush=True)
sys.stdin.read()
"""


def test_compiler_dies_with_a_learner_that_is_killed(program: Path, tmp_path: Path) -> None:
    learner = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with learner:
        assert learner.stdout is not None
        pid = int(learner.stdout.readline())
        processes = [os.pidfd_open(one) for one in (pid, os.getpgid(pid))]
        learner.kill()
    for process in processes:
        assert select.select([process], [], [], 10)[0]
        os.close(process)
    assert not list(tmp_path.glob("mlcb-*"))
