# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attack, and write the table of figures; exit code 1 if a must is missed.

python -m scripts.attacks -o docs/attacks.md
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.report import Figure, machine, show
from scripts import training_faults
from scripts.attacks import connections, kills, soak


def trainings(wanted: int, seed: int) -> Iterator[Figure]:
    """So many kills in a training, by ``scripts.training_faults``; what is lost ends it."""
    with tempfile.TemporaryDirectory(prefix="mlcb-attack-") as folder:
        training = training_faults.Training(Path(folder))
        survived = [said for _, said, _ in training_faults.kill_all(training, wanted, seed)]
        training.end()
    resumed = sum("resumed" in said for said in survived)
    yield Figure("kills in a training that went on or resumed", len(survived), "", wanted, higher=True, note=f"{resumed} of its driver; nothing left")


def main() -> None:
    """Attack by all means that are asked for, one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=940, help="of workers, children, relays and learners")
    parser.add_argument("--training-kills", type=int, default=60)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts this in the background has it ignored, which children inherit
    began, where = time.monotonic(), machine()
    means = {
        "Kills": (asked.kills, lambda: kills.figures(asked.kills, asked.seed)),
        "Kills in a training": (asked.training_kills, lambda: trainings(asked.training_kills, asked.seed)),
        "Connections": (asked.connections, lambda: connections.figures(asked.connections, asked.seed)),
        "Episodes": (asked.episodes, lambda: soak.figures(asked.episodes)),
    }
    rows, met = list[str](), True
    for title, (wanted, measure) in means.items():
        if not wanted:
            continue
        with ExitStack() as stack:
            stack.callback(training_faults.kill_marked)  # what a failure leaves
            found = list(measure())
        met &= show(title, found)
        rows += [_row(title, figure) for figure in found]
    command = f"python -m scripts.attacks {' '.join(sys.argv[1:])}"
    asked.output.write_text(_page(command, where, (time.monotonic() - began) / 60, rows))
    sys.exit(not met)


def _row(title: str, figure: Figure) -> str:
    targets = [f"{target:g}" if target is not None else "" for target in (figure.must, figure.aim)]
    value = f"{figure.value:.4g}" if figure.value < 1000 else f"{figure.value:.0f}"
    return f"| {title} | {figure.name} | {value} {figure.unit} | {' | '.join(targets)} | {figure.verdict} | {figure.note} |"


def _page(command: str, where: str, minutes: float, rows: list[str]) -> str:
    return f"""# Attacks

What [kills, connections and many episodes](security.md) cost, as `make check-attacks` measures it:
`{command}`, {minutes:.0f} minutes, {where}.

| | figure | measured | must | aim | | note |
|---|---|---|---|---|---|---|
{chr(10).join(rows)}
"""


if __name__ == "__main__":
    main()
