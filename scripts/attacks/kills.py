# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills with -9, at any moment, of workers, their children, relays and learners, in every environment: what is lost, and what is left."""

import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing import get_context
from pathlib import Path

import psutil

from benchmarks.report import Figure
from mlcb_gym import VERSIONS
from mlcb_gym.session.runtime_folder import LOCK, SUFFIXES, VARIABLE
from scripts.attacks.player import START_SECONDS, Player
from scripts.training_faults import MARK, MLCB, Process, below, check_ended, kill_marked, marked, workers

RECOVERY_SECONDS = 60.0
"""The time in which the next whole episode must have ended, on a machine that may be busy."""
PAUSE_SECONDS = (0.0, 0.5)
CALM_SECONDS, SPIN_SHARE = 2.0, 0.1
"""The time for which a stopped learner asks nothing, and the share of a core that all others may use then."""
SESSIONS = ("worker:", "relay")
FAULTS = {
    "hang": "no whole episode in time",
    "spin": "work for a learner that asks nothing",
    "process": "processes left",
    "file": "files and segments left",
    "descriptor": "descriptors left",
    "episode": "episodes lost beyond the one under way",
    "punishment": "episodes ended by a kill as if by the policy",
}
"""What must not happen, by its short name."""


class Storm:
    """A learner, its workers, a relay where they are behind one, and the kills among them. A context manager, at whose end nothing is left."""

    def __init__(self, env_id: str, session: str, folder: Path) -> None:
        self.found = Counter[str]()
        self.killed = Counter[str]()
        self._env_id, self._folder = env_id, folder
        self._environment = {"TMPDIR": str(folder), VARIABLE: str(folder)}
        self._relay = self._serve("grpc://127.0.0.1:0") if session == "relay" else None
        self._uri = self._relay[1] if self._relay else session
        self._player = self._learner()

    def __enter__(self) -> "Storm":
        return self

    def __exit__(self, *_: object) -> None:
        """End the learner as by Ctrl-C and the relay as by its keeper, and count what is left."""
        self._player.process.send_signal(signal.SIGINT)
        self._ends([Process(self._player.process.pid, 0, "the learner")])
        self._player.kill()
        if self._relay is not None:
            self._relay[0].terminate()
            self._relay[0].communicate()
        self._ends(marked())
        left = [path for path in self._folder.rglob("*") if path.is_file() and path.name != LOCK and path.suffix not in SUFFIXES]
        self.found["file"] += len(left)

    def kill(self, rng: random.Random) -> None:
        """Kill one process of a kind that is drawn, and bring back what the user would; count what happened."""
        time.sleep(rng.uniform(*PAUSE_SECONDS))
        kind, pids = "", list[int]()
        while not pids:
            kind, those = rng.choice(list(self._kinds().items()))
            pids = those()
        watched = self._end_with(kind)
        try:
            os.kill(rng.choice(pids), signal.SIGKILL)
        except ProcessLookupError:
            return  # an episode that has just ended
        self.killed[kind] += 1
        self._go_on(kind, watched, time.monotonic())

    def calm(self) -> None:
        """Look what the learner holds by now; stop it, and look what others do meanwhile."""
        self.found["descriptor"] += max(0, self._player.fewest_descriptors(RECOVERY_SECONDS, hoped=self._descriptors) - self._descriptors)
        process = psutil.Process(self._player.process.pid)
        process.suspend()
        time.sleep(CALM_SECONDS)  # the step under way ends
        before = _seconds_of_others(self._player.process.pid)
        time.sleep(CALM_SECONDS)
        self.found["spin"] += _seconds_of_others(self._player.process.pid) - before > SPIN_SHARE * CALM_SECONDS
        process.resume()

    def _kinds(self) -> dict[str, Callable[[], list[int]]]:
        """The processes that may be killed, by what they are."""
        if self._relay is None:
            root, prefix = self._player.process.pid, ""
        else:
            root, prefix = self._relay[0].pid, "relay's "
        kinds = {
            f"{prefix}worker": lambda: [process.pid for process in workers(root)],
            f"{prefix}child": lambda: [child.pid for process in workers(root) for child in below(process.pid)],
            "learner": lambda: [self._player.process.pid],
        }
        return kinds | ({"relay": lambda: [root]} if self._relay else {})

    def _end_with(self, kind: str) -> list[Process]:
        """The processes that must end with one of this kind."""
        relayed = below(self._relay[0].pid) if self._relay else []
        return {"learner": [*below(self._player.process.pid), *relayed], "relay": relayed}.get(kind, [])

    def _go_on(self, kind: str, watched: list[Process], killed: float) -> None:
        """Bring back a learner or a relay; all others come back by themselves."""
        if kind == "learner":
            self._player.kill()
            self._ends(watched)
            self._player = self._learner()
            return
        if self._relay and kind == "relay":
            self._relay[0].communicate()
            self._ends(watched)
            self._relay = self._serve(self._uri)
        self._recovers(killed)

    def _learner(self) -> Player:
        """A new one, which has played an episode."""
        started, player = time.monotonic(), Player(self._env_id, self._uri, self._environment)
        _, first = player.recovered(started, START_SECONDS)
        self.found["hang"] += first is None
        self._descriptors = player.fewest_descriptors(RECOVERY_SECONDS)
        return player

    def _recovers(self, killed: float) -> None:
        failed, whole = self._player.recovered(killed, RECOVERY_SECONDS)
        self.found["hang"] += whole is None
        self.found["episode"] += max(0, len(failed) - 1)
        self.found["punishment"] += sum(not played.truncated for played in failed)

    def _ends(self, watched: list[Process]) -> None:
        with suppress(RuntimeError):
            return check_ended(watched)
        self.found["process"] += 1
        for process in watched:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    def _serve(self, uri: str) -> tuple["subprocess.Popen[str]", str]:
        environment = os.environ | {MARK: str(os.getpid())} | self._environment
        command = [*MLCB, "serve", uri, "--workers", "2", "--sandbox", "partial"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert server.stdout is not None
        return server, server.stdout.readline().strip()


def segments() -> set[str]:
    """The names of this package's segments of shared memory."""
    return {path.name for path in Path("/dev/shm").glob("*mlcb*")}


def _seconds_of_others(learner: int) -> float:
    """The time of the processor that all of this test's processes but the learner have used."""
    total = 0.0
    for process in marked():
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(process.pid).cpu_times()
            total += times.user + times.system if process.pid != learner else 0.0
    return total


def figures(kills: int, seed: int, env_ids: tuple[str, ...] = tuple(VERSIONS)) -> Iterator[Figure]:
    """So many kills, as many in each environment, half of them behind a relay; one storm on each core, in a process of its own."""
    storms = [(env_id, session) for env_id in env_ids for session in SESSIONS]
    wanted = [kills * (number + 1) // len(storms) - kills * number // len(storms) for number in range(len(storms))]
    before = segments()
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        seen = list(pool.map(_storm, storms, wanted, [seed] * len(storms)))
    killed, found = (sum(counts, Counter[str]()) for counts in zip(*seen, strict=True))
    found["file"] += len(segments() - before)
    note = ", ".join(f"{count} {kind}" for kind, count in sorted(killed.items()))
    yield Figure("kills", killed.total(), "", kills, higher=True, note=note)
    for fault, text in FAULTS.items():
        yield Figure(text, found[fault], "", 0, note=f"{len(env_ids)} environments, {len(storms)} storms")


def _storm(of: tuple[str, str], wanted: int, seed: int) -> tuple[Counter[str], Counter[str]]:
    """So many kills in an environment and a kind of session; return those by what was killed, and the faults."""
    rng = random.Random(f"{seed} {of}")
    with ExitStack() as stack:
        stack.callback(kill_marked)  # what a failure leaves
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mlcb-attack-"))
        storm = stack.enter_context(Storm(*of, Path(folder)))
        while storm.killed.total() < wanted:
            storm.kill(rng)
        storm.calm()
    print(*of, dict(storm.killed), dict(+storm.found), flush=True)
    return storm.killed, storm.found
