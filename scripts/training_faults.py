# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainings that lose processes: one after another is killed with -9, and the training must go on, or resume.

    python -m scripts.training_faults --kills 50 -o docs/training_faults.md

A training samples in two processes, each with a worker of its own and two compile servers. A kill is survived when two checkpoints were written after
it. A driver that is killed must leave nothing behind, and is started with --resume; a server is started again at its port.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.processes import family
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.run import current_commit

MARK = "MLCB_FAULTS"
"""The environment variable by which processes of this test are known."""
MLCB = [sys.executable, "-m", "mlcb_gym"]
SURVIVED_SECONDS = 180.0
END_SECONDS = 90.0
AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""Processes of Ray that end a minute after it was killed: they are waited for at the end."""
PAUSE_SECONDS = (0.0, 4.0)
SERVER_SECONDS = 10.0
"""The time for which a killed server is away."""


@dataclass(frozen=True)
class Process:
    """A process as it was when it was looked at."""

    pid: int
    parent: int
    command: str


def seen(processes: Iterable[psutil.Process]) -> list[Process]:
    """Return those of the processes that run."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess), process.oneshot():
            if process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                found.append(Process(process.pid, process.ppid(), " ".join(process.cmdline())))
    return found


def below(root: int) -> list[Process]:
    """All processes that one has started, and those that they have."""
    return seen(family(root)[1:])


def workers(root: int) -> list[Process]:
    """The workers below a process: those whose parent is none."""
    found = [process for process in below(root) if "mlcb-worker" in process.command]
    numbers = {process.pid for process in found}
    return [process for process in found if process.parent not in numbers]


def marked() -> list[Process]:
    """All processes of this test, whoever their parent is by now."""
    return seen(process for process in psutil.process_iter() if _is_marked(process))


def _is_marked(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return process.environ().get(MARK) == str(os.getpid())
    return False


def kill_marked() -> None:
    """Kill all processes of this test."""
    for process in marked():
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def check_ended(watched: list[Process]) -> None:
    """Wait until all of these processes have ended; raise RuntimeError where one has not in ``END_SECONDS``."""
    until = time.monotonic() + END_SECONDS
    while (still := [process for process in watched if _runs(process.pid)]) and time.monotonic() < until:
        time.sleep(0.1)
    if still:
        raise RuntimeError(f"left behind: {', '.join(process.command[:60] for process in still)}")


def _runs(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(seen([psutil.Process(pid)]))
    return False


class Training:
    """A training and its compile servers, which are there again after each kill."""

    def __init__(self, folder: Path) -> None:
        self.run = folder / "run"
        self._log = (folder / "log").open("w")
        self._environment = os.environ | {MARK: str(os.getpid())}
        self.servers = [self._serve("grpc://127.0.0.1:0") for _ in range(2)]
        self.driver = self._train()

    def victims(self) -> dict[str, Callable[[], list[int]]]:
        """The processes that may be killed, by what they are."""
        ours = self.driver.pid
        return {
            "driver": lambda: [ours],
            "env runner": lambda: [p.pid for p in below(ours) if "EnvRunner" in p.command],
            "worker": lambda: [p.pid for p in workers(ours)],
            "child of a worker": lambda: [c.pid for p in workers(ours) for c in below(p.pid)],
            "compile server": lambda: [server.pid for server, _ in self.servers],
            "worker of a server": lambda: [p.pid for server, _ in self.servers for p in workers(server.pid)],
            "child of a server's worker": lambda: [c.pid for server, _ in self.servers for p in workers(server.pid) for c in below(p.pid)],
        }

    def begun(self) -> tuple[int, float]:
        """The number of updates in the last checkpoint, and when it was written."""
        last = self.run / "last" / "run.json"
        try:
            return int(read_run(last.parent)["progress"]["iteration"]), last.stat().st_mtime
        except OSError:
            return -1, 0.0

    def survives(self, kind: str, left: list[Process]) -> str:
        """Bring back what was killed, and wait for the second checkpoint from now on; return what happened."""
        said = "went on"
        if kind == "driver":
            self.driver.wait(END_SECONDS)
            check_ended([p for p in left if not p.command.startswith(AGENTS)])
            self.driver, said = self._train("--resume"), "left nothing, resumed"
        if kind == "compile server":
            time.sleep(SERVER_SECONDS)
            self.servers = [(server, uri) if server.poll() is None else self._serve(uri) for server, uri in self.servers]
        first, until = self.begun()[0], time.monotonic() + SURVIVED_SECONDS
        while (now := self.begun()[0]) < first + 2:
            if self.driver.poll() is not None:
                raise RuntimeError(f"the training ended with {self.driver.returncode}: {Path(self._log.name).read_text()[-2000:]}")
            if time.monotonic() > until:
                raise RuntimeError(f"no second checkpoint after update {now} in {SURVIVED_SECONDS:g} s: {Path(self._log.name).read_text()[-2000:]}")
            time.sleep(0.1)
        return said

    def end(self) -> None:
        """End the training by Ctrl-C, and the servers.

        Raises:
            RuntimeError: something is left of them.
        """
        ended: list[subprocess.Popen[Any]] = [self.driver, *(server for server, _ in self.servers)]
        for process in ended:
            process.send_signal(signal.SIGINT)
            process.wait(END_SECONDS)
        self._log.close()
        check_ended(marked())

    def _serve(self, uri: str) -> tuple["subprocess.Popen[str]", str]:
        server = subprocess.Popen([*MLCB, "serve", uri, "--workers", "8"], stdout=subprocess.PIPE, text=True, env=self._environment)
        assert server.stdout is not None
        return server, server.stdout.readline().strip()

    def _train(self, *more: str) -> "subprocess.Popen[bytes]":
        session = ",".join(["worker:", *(uri for _, uri in self.servers)])
        begun = ["--programs", "embedded/train", "--validation", "embedded/validation/huffman", "--env", f"session={session}", "--runners", "2"]
        small = ["--envs", "2", "--set", "steps_per_iteration=128", "--set", "statistics_episodes=4", "--algo", "ppo"]
        options = [*([] if more else [*begun, *small]), "--checkpoint-every", "1", "--minutes", "600", "-o", str(self.run), *more]
        return subprocess.Popen(
            [*MLCB, "train", "posetrl", *options], stdout=self._log, stderr=self._log, stdin=subprocess.DEVNULL, env=self._environment
        )


def kill_all(training: Training, kills: int, seed: int) -> Iterator[tuple[str, str, float]]:
    """Kill so many processes of a training, drawn at random, and yield what each was, what happened, and the seconds to two checkpoints."""
    rng = random.Random(seed)
    training.survives("nothing", [])
    done = 0
    while done < kills:
        time.sleep(rng.uniform(*PAUSE_SECONDS))
        kind, pids = "", list[int]()
        while not pids:
            kind = rng.choice(list(training.victims()))
            pids = training.victims()[kind]()
        left = below(training.driver.pid)
        try:
            os.kill(rng.choice(pids), signal.SIGKILL)
        except ProcessLookupError:
            continue  # an episode that has just ended
        done += 1
        print(f"kill {done}: {kind}", flush=True)
        started = time.monotonic()
        yield kind, training.survives(kind, left), time.monotonic() - started


def main() -> None:
    """Kill processes of a training, and write the log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts this in the background has it ignored, which children inherit
    with tempfile.TemporaryDirectory(prefix="mlcb-faults-") as name, ExitStack() as stack:
        stack.callback(kill_marked)
        training = Training(Path(name))
        rows, counts = list[str](), Counter[str]()
        for kind, said, seconds in kill_all(training, asked.kills, asked.seed):
            counts[kind] += 1
            rows.append(f"| {len(rows) + 1} | {kind} | {said} | {seconds:.1f} |")
            print(rows[-1], flush=True)
        progress = read_run(training.run / "last")["progress"]
        training.end()
        exported = subprocess.run([*MLCB, "export", training.run / "best", Path(name) / "policy"], capture_output=True, text=True, check=True)
        options = ["--policy", f"{name}/policy", "--programs", "embedded/validation/huffman", "-o", f"{name}/evaluation"]
        subprocess.run([*MLCB, "evaluate", "posetrl", *options], capture_output=True, check=True)
    killed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    said = next(line.partition(": ")[2] for line in exported.stdout.splitlines() if "alike" in line)
    asked.output.write_text(
        f"""# Trainings that lose processes

`python -m scripts.training_faults --kills {asked.kills} --seed {asked.seed}` at commit {current_commit()}, {os.cpu_count()} cores: one training of
PosetRL by PPO, two processes that sample, each with a worker of its own and two compile servers. {len(rows)} processes were
killed with -9 ({killed}). After each kill, the training wrote two more checkpoints, or was resumed from its last one. At its end
({progress["iteration"]} updates, {progress["steps"]} steps, resumed {progress["resumed"]} times) nothing was left behind; the policy
was exported ({said}) and evaluated.

| kill | process | what happened | seconds to two checkpoints |
|---|---|---|---|
"""
        + "\n".join(rows)
        + "\n"
    )


if __name__ == "__main__":
    main()
