# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fork server under bad luck: limits, crashes, signals, broken programs; each is one line, and nothing is left behind."""

import gc
import mmap
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

from mlcb_gym import _native
from mlcb_gym.corpus.bitcode import bitcode
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.errors import CompilerError, MlcbError, SessionLost
from mlcb_gym.rollout.play import ATTEMPTS, episode, persistent, play_in_order
from mlcb_gym.session import EpisodeRequest, Limits, Target, WorkerSession, fork_server, worker
from mlcb_gym.session import episode as episode_module
from tests.support.making import making
from tests.support.posetrl import BOMB, ENDLESS, SOURCE
from tests.support.processes import children, descriptors, ends, left, no_more_descriptors, signal_only

ACTIONS = [ENDLESS, "function(mem2reg)", "default<Oz>", "trigger-crash-module", "trigger-verifier-error", "stop"]
ENDLESS_ACTION, MEM2REG, OZ, CRASH, INVALID, STOP = range(6)

OTHER_SOURCE = "int twice(int x) { return x + x; }\nint thrice(int x) { return twice(x) + x; }\n"
ARM = 'target triple = "aarch64-unknown-linux-gnu"\ndefine i32 @f(i32 %x) {\n  ret i32 %x\n}\n'
X86 = "x86_64-pc-linux-gnu"
MADV_COLLAPSE = 25

Make = Callable[..., PosetRLEnv]


@pytest.fixture
def session() -> Iterator[WorkerSession]:
    """A worker of one test alone, whose processes can be counted."""
    session = WorkerSession(snapshots=0)
    yield session
    session.close()


@pytest.fixture
def make(session: WorkerSession, tmp_path: Path) -> Iterator[Make]:
    """Makes environments on the bomb in that worker, and closes them."""
    bomb = tmp_path / "bomb.c"
    bomb.write_text(BOMB)
    with making(PosetRLEnv, programs=bomb, actions=ACTIONS, reward="none", session=session) as make:
        yield make


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Bitcode that a test may change."""
    return write_bitcode(tmp_path / "module.bc", SOURCE)


def write_bitcode(path: Path, source: str) -> Path:
    """Puts a program there at once, as a compiler does that is done."""
    path.with_suffix(".c").write_text(source)
    path.with_suffix(".new").write_bytes(bitcode(path.with_suffix(".c")).read_bytes())
    return path.with_suffix(".new").replace(path)


def has_huge_pages() -> bool:
    """Whether memory can be had on huge pages at once."""
    with mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory[:] = b"x" * len(memory)
        try:
            memory.madvise(MADV_COLLAPSE)
        except OSError:
            return False
    return True


def outcome(env: PosetRLEnv, action: int) -> tuple[str, bool, bool]:
    """How a step ended that something went wrong in."""
    env.send(action)
    return answer(env)


def answer(env: PosetRLEnv) -> tuple[str, bool, bool]:
    _, reward, terminated, truncated, info = env.receive()
    assert reward == (-1.0 if terminated else 0.0)
    assert "\n" not in info["error"]
    return info["error"], terminated, truncated


def refusal(env: PosetRLEnv, program: Path) -> str:
    """Why no episode begins; empty where one does."""
    try:
        env.reset(options={"program": program})
    except MlcbError as error:
        return str(error)
    return ""


@pytest.mark.alone
@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(cpu_seconds=1), "the compiler used up its CPU time"),
        (Limits(turn_seconds=0.2), "the compiler took too long for one turn"),
        (Limits(memory_bytes=64 << 20), "the compiler ran out of memory"),
    ],
    ids=["cpu", "turn", "memory"],
)
def test_limit_ends_the_episode_and_says_during_what(make: Make, session: WorkerSession, limits: Limits, message: str) -> None:
    env = make(limits=limits)
    env.reset(seed=1)
    worker = session.pid
    assert outcome(env, ENDLESS_ACTION) == (f"{message}, during {ENDLESS}", True, False)
    env.reset(seed=1)
    assert "error" not in env.step(MEM2REG)[4]
    assert session.pid == worker


def test_small_file_that_is_a_large_module_is_read_within_the_limits(make: Make, session: WorkerSession, module: Path) -> None:
    env = make(programs=module, limits=Limits(memory_bytes=256 << 20))
    env.reset(seed=1)
    worker = session.pid
    module.write_text("@g = global <400000000 x i8> splat (i8 1)\ndefine i32 @main() { ret i32 0 }\n")
    with pytest.raises(CompilerError, match=r"LLVM crashes when it reads it, or it takes more than the limits of an episode$"):
        env.reset(options={"program": env.programs[0]})
    assert session.pid == worker


def test_clones_of_clones_have_the_time_of_one_episode(session: WorkerSession) -> None:
    busy = [f"function({','.join(['gvn'] * (400 + times))})" for times in range(60)]  # 0.1 s each; from 0.02 to 1 s will do
    with ExitStack() as made:
        limits = Limits(cpu_seconds=1)
        env = made.enter_context(
            closing(PosetRLEnv(programs="embedded/train/lisp", actions=busy, max_steps=60, reward="none", session=session, limits=limits))
        )
        env.reset(seed=1)

        def clone_of_busy_clones() -> None:
            last: CompilerEnv = env
            for action in range(len(busy)):
                last.step(action)
                last = made.enter_context(closing(last.fork()))

        with pytest.raises(MlcbError, match="cannot be forked: it has used up its CPU time"):
            clone_of_busy_clones()


@pytest.mark.alone
def test_learner_may_think_longer_than_a_turn_may_last(make: Make) -> None:
    patient, busy = make(limits=Limits(turn_seconds=0.3)), make(limits=Limits(turn_seconds=0.6))
    patient.reset(seed=1)
    busy.reset(seed=1)
    busy.step(ENDLESS_ACTION)
    assert "error" not in patient.step(MEM2REG)[4]


def test_crash_of_a_pass_is_named(make: Make) -> None:
    env = make()
    env.reset(seed=1)
    assert outcome(env, CRASH) == ("the compiler crashed (abort), during trigger-crash-module", True, False)


def test_module_that_the_verifier_refuses_is_the_fault_of_its_action(make: Make) -> None:
    env = make(verify=True)
    env.reset(seed=1)
    assert outcome(env, INVALID) == ("action 'trigger-verifier-error' leaves a module that LLVM's verifier refuses", True, False)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (signal.SIGSEGV, "segmentation fault"),
        (signal.SIGBUS, "bus error"),
        (signal.SIGILL, "illegal instruction"),
        (signal.SIGFPE, "arithmetic error"),
        (signal.SIGABRT, "abort"),
        (signal.SIGTRAP, "trap"),
    ],
)
def test_crash_signal_is_named(make: Make, session: WorkerSession, number: signal.Signals, name: str) -> None:
    env = make()
    env.reset(seed=1)
    signal_only(children(session.pid), number)
    assert outcome(env, MEM2REG) == (f"the compiler crashed ({name})", True, False)


def test_child_killed_in_mid_step_truncates(make: Make, session: WorkerSession) -> None:
    env = make()
    env.reset(seed=1)
    worker = session.pid
    env.send(ENDLESS_ACTION)
    signal_only(children(worker), signal.SIGKILL)
    assert answer(env) == ("the other end closed its channel or died", False, True)
    env.reset(seed=1)
    assert session.pid == worker


@pytest.mark.parametrize(("kills", "lost"), [(1, False), (ATTEMPTS, True)])
def test_lost_episode_is_played_again(kills: int, lost: bool, make: Make, session: WorkerSession, program: Path) -> None:
    left_to_kill = [signal.SIGKILL] * kills

    def choose(observation: object) -> int:
        if left_to_kill:
            signal_only(left(session.pid, 1), left_to_kill.pop())
            return ENDLESS_ACTION
        return STOP

    (trace,) = play_in_order([make(programs=program)], [persistent(lambda: episode(program, choose))])
    assert (trace.lost, trace.error is None) == (lost, not lost)


def test_close_in_another_thread_truncates(make: Make) -> None:
    env = make()
    env.reset(seed=1)
    env.send(ENDLESS_ACTION)
    closing = Timer(0.05, env.close)
    closing.start()
    error, terminated, truncated = answer(env)
    closing.join()
    assert "clos" in error
    assert (terminated, truncated) == (False, True)


def test_close_in_another_thread_starts_no_other_compiler(program: Path) -> None:
    env = PosetRLEnv(programs=program)
    env.send_reset()
    env.close()
    with pytest.raises(SessionLost):
        env.receive_reset()
    assert isinstance(env.session, WorkerSession)
    assert env.session.pid is None
    with pytest.raises(SessionLost, match=r"^the environment is closed$"):
        env.reset()


@pytest.mark.alone
def test_stopped_child_is_ended_at_the_deadline(make: Make, session: WorkerSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "GRACE_SECONDS", 0.2)
    env = make(limits=Limits(turn_seconds=0.3))
    env.reset(seed=1)
    (child,) = children(session.pid)
    watched = os.pidfd_open(child)
    os.kill(child, signal.SIGSTOP)
    assert outcome(env, MEM2REG) == ("the compiler was silent for 0.5 s", False, True)
    assert ends([watched])


def test_worker_killed_between_episodes_is_started_anew(make: Make, session: WorkerSession) -> None:
    envs = [make(), make(actions=["function(mem2reg)", "stop"])]
    for env in envs:
        env.reset(seed=1)
        assert env.step(STOP if env is envs[0] else 1)[2]
    before = session.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    observations = [env.reset(seed=1)[0] for env in envs]
    assert session.pid not in (None, before)
    assert [len(observation["action_mask"]) for observation in observations] == [len(ACTIONS), 2]


def test_killed_worker_truncates_every_episode_and_one_new_worker_serves_them(make: Make, session: WorkerSession) -> None:
    envs = [make() for _ in range(3)]
    for env in envs:
        env.reset(seed=1)
        env.send(ENDLESS_ACTION)
    before = session.pid
    assert before is not None
    watched = [os.pidfd_open(pid) for pid in (before, *children(before))]
    os.kill(before, signal.SIGKILL)
    assert [answer(env)[1:] for env in envs] == [(False, True)] * 3
    assert ends(watched)
    for env in envs:
        env.reset(seed=1)
    assert len(children(session.pid)) == 3


def test_stopped_child_ends_with_its_episode(make: Make, session: WorkerSession) -> None:
    env = make()
    env.reset(seed=1)
    watched = [os.pidfd_open(child) for child in children(session.pid)]
    signal_only(children(session.pid), signal.SIGSTOP)
    env.close()
    assert ends(watched)


@pytest.mark.alone
def test_stopped_worker_is_replaced_when_the_first_turn_is_over(make: Make, session: WorkerSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "GRACE_SECONDS", 0.0)
    env, running = make(limits=Limits(turn_seconds=1.0)), make()
    running.reset(seed=1)
    before = session.pid
    assert before is not None
    watched = [os.pidfd_open(pid) for pid in (before, *children(before))]
    os.kill(before, signal.SIGSTOP)
    env.reset(seed=1)
    assert ends(watched)
    assert session.pid not in (None, before)
    assert outcome(running, MEM2REG)[1:] == (False, True)
    assert "error" not in env.step(MEM2REG)[4]


@pytest.mark.alone
def test_stopped_worker_is_replaced_when_a_task_is_bound(make: Make, session: WorkerSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "START_SECONDS", 1.0)
    monkeypatch.setattr(worker, "STOP_SECONDS", 0.1)
    make()
    before = session.pid
    assert before is not None
    os.kill(before, signal.SIGSTOP)
    make(actions=["function(mem2reg)", "stop"]).reset(seed=1)
    assert session.pid not in (None, before)


def test_hang_up_in_mid_pass_ends_the_child(make: Make, session: WorkerSession) -> None:
    env = make()
    worker = session.pid
    before, ours = descriptors(worker), descriptors("self")
    env.reset(seed=1)
    watched = [os.pidfd_open(child) for child in children(worker)]
    env.send(ENDLESS_ACTION)
    env.close()
    assert ends(watched)
    assert (children(worker), session.pid) == ([], worker)
    assert descriptors(worker) == before
    assert no_more_descriptors(ours)


@pytest.mark.parametrize("said", ['{"pid": 1e999}', "[" * 100_000, "{}", '{"pid": [1]}'], ids=["endless", "deep", "nothing", "other"])
def test_child_that_says_no_process_id_is_one_line(said: str) -> None:
    with pytest.raises(SessionLost, match=r"^the compiler said [^\n]{,210} where its process id was due$"):
        episode_module._introduction(said)


@pytest.mark.parametrize("other", [lambda pid: pid, lambda pid: 1 << 80], ids=["process of the user", "number of none"])
def test_process_that_a_child_names_and_that_is_none_of_its_worker_is_left_alone(
    other: Callable[[int], int], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "60"]) as victim:
        monkeypatch.setattr(episode_module, "_introduction", lambda begin: (other(victim.pid), {}))
        env = make()
        env.reset(seed=1)
        env.close()
        with pytest.raises(subprocess.TimeoutExpired):
            victim.wait(0.2)
        victim.kill()


LEARNER = """
import sys
from pathlib import Path
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.session import WorkerSession
session = WorkerSession()
env = PosetRLEnv(programs=sys.argv[1], actions=sys.argv[2:], reward="none", session=session)
env.reset(seed=1)
env.send(0)
print(session.pid, Path(f"/proc/{session.pid}/task/{session.pid}/children").read_text(), flush=True)
sys.stdin.read()
"""


def test_killed_learner_takes_its_compilers_with_it(tmp_path: Path) -> None:
    (tmp_path / "bomb.c").write_text(BOMB)
    command: list[str | Path] = [sys.executable, "-c", LEARNER, tmp_path / "bomb.c", ENDLESS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as learner:
        assert learner.stdout is not None
        worker, child = (os.pidfd_open(int(pid)) for pid in learner.stdout.readline().split())
        learner.kill()
    assert ends([worker, child])


def test_concurrent_episodes_are_each_as_if_alone(make: Make) -> None:
    alone, *envs = (make(reward="size", programs="embedded/train/fft") for _ in range(6))
    for env in envs:
        env.reset(seed=1)
    for action in (MEM2REG, OZ):
        for env in envs:
            env.send(action)
        together = [env.receive() for env in envs]
    alone.reset(seed=1)
    alone.step(MEM2REG)
    expected = alone.step(OZ)
    for step in together:
        np.testing.assert_equal(step, expected)


@pytest.mark.alone
def test_failures_leave_the_episodes_beside_them_alone(make: Make, session: WorkerSession) -> None:
    killed, crashed, slow, well = envs = [make(limits=Limits(turn_seconds=0.5)) for _ in range(4)]
    for env in envs:
        env.reset(seed=1)
    victim, *_ = children(session.pid)
    for env, action in zip(envs, (ENDLESS_ACTION, CRASH, ENDLESS_ACTION, OZ), strict=True):
        env.send(action)
    os.kill(victim, signal.SIGKILL)
    assert "error" not in well.receive()[4]
    assert [answer(env)[1:] for env in (killed, crashed, slow)] == [(False, True), (True, False), (True, False)]
    assert "error" not in well.step(STOP)[4]


def test_program_that_did_not_change_is_parsed_once(make: Make, module: Path) -> None:
    env = make(programs=module)
    first = env.reset(seed=1)
    status = module.stat()
    module.write_bytes(b"\0" * status.st_size)
    os.utime(module, ns=(status.st_atime_ns, status.st_mtime_ns))
    np.testing.assert_equal(env.reset(seed=1), first)


def test_what_the_cache_of_sizes_answered_is_told_at_the_start_of_an_episode(make: Make) -> None:
    env = make(reward="size", programs="embedded/train/fft")
    told = []
    for _ in range(3):
        env.reset(seed=1)
        told.append(env.timing.cache)
    assert not any(told[0].values())
    assert told[1]["function_misses"] == told[2]["function_misses"] > 0
    assert told[2]["function_hits"] > told[1]["function_hits"]


def test_program_that_changed_is_read_again(make: Make, module: Path) -> None:
    env = make(programs=module)
    env.reset(seed=1)
    write_bitcode(module, OTHER_SOURCE)
    np.testing.assert_equal(env.reset(seed=1)[0], make(programs=write_bitcode(module.with_name("other.bc"), OTHER_SOURCE)).reset(seed=1)[0])


def test_program_that_is_gone_is_named_and_another_still_runs(make: Make, module: Path) -> None:
    env = make(programs=module)
    env.reset(seed=1)
    module.unlink()
    with pytest.raises(CompilerError, match=r"^module.bc: program '.*module.bc': No such file or directory$"):
        env.reset(seed=1)
    make().reset(seed=1)


def test_drawn_program_that_cannot_be_read_is_drawn_again(make: Make, module: Path) -> None:
    module.write_bytes(module.read_bytes()[:400])
    env = make(programs=[module, "embedded/train/fft"])
    names = {env.reset(seed=seed)[1]["program"] for seed in range(8)}
    assert names == {"embedded/train/fft"}
    assert env.timing.redrawn > 0


def test_drawn_program_that_failed_is_not_played_again(make: Make, module: Path) -> None:
    module.write_bytes(module.read_bytes()[:400])
    env = make(programs=module)
    with pytest.raises(CompilerError, match=r"module\.bc"):
        env.reset(seed=1)
    assert env.timing.redrawn == 0


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_truncated_bitcode_is_one_line(make: Make, module: Path, share: float) -> None:
    content = module.read_bytes()
    module.write_bytes(content[: int(share * len(content)) // 4 * 4])
    with pytest.raises(CompilerError, match=r"^module.bc: program '.*module.bc': .") as caught:
        make(programs=module).reset()
    assert "\n" not in str(caught.value)


def test_damaged_bitcode_never_harms_the_worker(make: Make, session: WorkerSession, module: Path) -> None:
    env = make(limits=Limits(turn_seconds=5.0))
    worker = session.pid
    content = module.read_bytes()
    rng = np.random.default_rng(1)
    refusals = []
    for position in rng.integers(8, len(content), 60):
        module.write_bytes(content[:position] + bytes(rng.integers(0, 256, 4, np.uint8)) + content[position + 4 :])
        refusals.append(refusal(env, module))
    assert any(refusals)
    assert not any("\n" in line for line in refusals)
    assert session.pid == worker


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'target triple = "{X86}"\ndeclare void @f()\n', "no function has a body"),
        (f'target triple = "{X86}"\n@x = global i32 1\n', "no function has a body"),
        ("define void @f() {\n  ret void\n}\n", "does not say what target it is for"),
        (ARM.replace("aarch64-unknown-linux-gnu", "no-such-machine"), "no-such-machine"),
        (ARM.replace("aarch64-unknown-linux-gnu", f"{X86}-coff"), f"target {X86}-coff: LLVM has no code generator"),
        (ARM.replace("aarch64-unknown-linux-gnu", f"{X86}-xcoff"), f"target {X86}-xcoff: LLVM has no code generator"),
        (ARM.replace("aarch64-unknown-linux-gnu", "\\E9-x"), "target \N{REPLACEMENT CHARACTER}-x"),
    ],
    ids=["declarations alone", "data alone", "no target", "unknown target", "coff", "xcoff", "no UTF-8"],
)
def test_module_that_cannot_be_compiled_is_one_line(make: Make, session: WorkerSession, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "odd.ll").write_text(text)
    env = make(programs=tmp_path / "odd.ll")
    worker = session.pid
    with pytest.raises(CompilerError, match=rf"^odd.ll: .*{message}") as caught:
        env.reset()
    assert "\n" not in str(caught.value)
    assert session.pid == worker


def test_module_whose_triple_leaves_the_vendor_out_is_of_that_target(make: Make, tmp_path: Path) -> None:
    (tmp_path / "short.ll").write_text(ARM.replace("aarch64-unknown-linux-gnu", "x86_64-linux-gnu"))
    for target in Target(), Target(X86):
        assert make(programs=tmp_path / "short.ll", target=target, reward="size").reset()[1]["text_oz"] > 0


@pytest.mark.parametrize("path", ["fifo", "/dev/zero", "."])
def test_program_that_is_no_regular_file_is_refused_at_once(session: WorkerSession, tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    spec = session.configure("posetrl", {"actions": ACTIONS})
    begun = session.begin(spec, EpisodeRequest(tmp_path / path, limits=Limits(turn_seconds=2.0)))
    with closing(begun) as refused, pytest.raises(CompilerError, match=r"it is no regular file$"):
        refused.receive()


def test_request_that_is_nested_too_deeply_is_refused(make: Make, session: WorkerSession) -> None:
    env = make()
    env.reset(seed=1)
    before, control = session.pid, session._control
    assert control is not None
    ours, theirs = socket.socketpair()
    control.begin("[" * 1_000_000, theirs.detach(), fork_server.START_SECONDS)
    with pytest.raises(_native.PeerError, match="begin: nested too deeply, expected at most 64 levels"):
        _native.Frames(ours.detach()).receive(fork_server.START_SECONDS)
    env.reset(seed=1)
    assert session.pid == before


def test_env_that_is_dropped_without_close_leaves_no_descriptor(make: Make, session: WorkerSession, tmp_path: Path) -> None:
    make().reset(seed=1)
    before = descriptors("self")
    dropped = PosetRLEnv(programs=tmp_path / "bomb.c", actions=ACTIONS, reward="none", session=session)
    dropped.reset(seed=1)
    del dropped
    gc.collect()
    assert no_more_descriptors(before)


def test_module_of_another_target_is_refused_where_one_is_asked_for(make: Make, tmp_path: Path) -> None:
    (tmp_path / "arm.ll").write_text(ARM)
    with pytest.raises(CompilerError, match=rf"is for target aarch64-unknown-linux-gnu, expected {X86}$"):
        make(programs=tmp_path / "arm.ll", target=Target(X86)).reset()


def test_module_is_compiled_for_its_own_target_where_none_is_asked_for(make: Make, tmp_path: Path) -> None:
    (tmp_path / "arm.ll").write_text(ARM)
    assert make(programs=tmp_path / "arm.ll", reward="size").reset()[1]["text_oz"] == 4  # ret


@pytest.mark.skipif(not has_huge_pages(), reason="a system that gives no huge pages")
def test_code_lies_on_huge_pages(make: Make, session: WorkerSession, module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLCB_DEBUG", raising=False)
    make(programs=module).reset()
    assert code_on_huge_pages(session.pid) > 50_000


def test_code_stays_where_names_are_wanted(make: Make, session: WorkerSession, module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCB_DEBUG", "1")
    make(programs=module).reset()
    assert code_on_huge_pages(session.pid) == 0


def code_on_huge_pages(pid: int | None) -> int:
    """In kilobytes."""
    mappings = re.findall(r"^\S+-\S+ r-xp(?:.*\n)+?AnonHugePages: +(\d+) kB$", Path(f"/proc/{pid}/smaps").read_text(), re.MULTILINE)
    return sum(map(int, mappings))


def test_200_episodes_leave_nothing(make: Make, session: WorkerSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", None)
    env = make(reward="size")
    env.reset(seed=1)
    env.step(STOP)
    worker = session.pid
    before, ours = descriptors(worker), descriptors("self")
    for number in range(200):
        env.reset(seed=number)
        clone = env.fork()
        watched = [os.pidfd_open(child) for child in children(worker)]
        env.step((STOP, CRASH, MEM2REG, -1)[number % 4])
        clone.close()
        env.close()
        assert len(watched) == 2
        assert ends(watched)
    assert descriptors(worker) == before
    assert no_more_descriptors(ours)
    assert list(scratch.iterdir()) == []
    left(worker, 0)
