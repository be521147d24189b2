# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the benchmarks named on the command line, or all; exit code 1 if a must is missed."""

import sys
from collections.abc import Sequence

from benchmarks import (
    allocation,
    deployment,
    environments,
    inlining,
    loops,
    memory,
    messages,
    questions,
    rl4real,
    rtt,
    sandbox,
    serializers,
    startup,
    step,
    training,
    vector,
)
from benchmarks.report import machine, refuse_beside_training, show
from mlcb_gym.corpus import corpora
from mlcb_gym.errors import ProgramError

ALL = {
    "step": step,
    "deployment": deployment,
    "allocation": allocation,
    "rl4real": rl4real,
    "inlining": inlining,
    "loops": loops,
    "startup": startup,
    "memory": memory,
    "messages": messages,
    "vector": vector,
    "training": training,
    "serializers": serializers,
    "sandbox": sandbox,
    "rtt": rtt,
    "environments": environments,
    "questions": questions,
}


ON_CORPUS = ("step", "deployment", "allocation", "rl4real", "inlining", "memory", "vector")
"""Those that measure on modules of the corpus ``CORPUS``."""
CORPUS = "default"


def refuse_without_corpus(names: Sequence[str]) -> None:
    """Ends the process in one line where one of the benchmarks needs a corpus that is not built."""
    needing = [name for name in names if name in ON_CORPUS]
    try:
        if needing:
            corpora.modules(CORPUS)
    except ProgramError:
        others = " ".join(name for name in ALL if name not in ON_CORPUS)
        sys.exit(
            f"benchmarks: {', '.join(needing)}: the corpus {CORPUS} is not built, run `mlcb corpus build {CORPUS}` (it fetches pinned sources); "
            f"without it: `python -m benchmarks {others}`"
        )


def refuse_unknown(names: Sequence[str]) -> None:
    """Ends the process in one line where there is no such benchmark."""
    if unknown := [name for name in names if name not in ALL]:
        sys.exit(f"benchmarks: {', '.join(unknown)}: expected some of {', '.join(ALL)}")


def main() -> None:
    names = sys.argv[1:] or list(ALL)
    refuse_unknown(names)
    refuse_without_corpus(names)
    refuse_beside_training()
    print(machine())
    met = [show(name, ALL[name].figures()) for name in names]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
