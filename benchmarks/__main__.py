# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the benchmarks named on the command line, or all; exit code 1 if a must is missed."""

import sys

from benchmarks import allocation, deployment, inlining, loops, memory, messages, rtt, serializers, startup, step, vector
from benchmarks.report import machine, refuse_beside_training, show

ALL = {
    "step": step,
    "deployment": deployment,
    "allocation": allocation,
    "inlining": inlining,
    "loops": loops,
    "startup": startup,
    "memory": memory,
    "messages": messages,
    "vector": vector,
    "serializers": serializers,
    "rtt": rtt,
}


def main() -> None:
    refuse_beside_training()
    print(machine())
    met = [show(name, ALL[name].figures()) for name in sys.argv[1:] or ALL]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
