# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model server: `python server.py [--at URI] COMPILER ...` starts a compiler with one more argument, where to ask, and answers it.

The compilers of ../c and ../cpp declare their tasks themselves; the server needs to know neither before.
"""

import subprocess
import sys
from collections.abc import Mapping

import numpy as np

from mlcb_gym.session import ModelServer

Tensors = Mapping[str, np.ndarray]


def unroller(tensors: Tensors) -> int:
    """Small bodies are unrolled as far as is legal."""
    allowed = np.flatnonzero(tensors["legal"])
    instructions = tensors["body"][0]
    return int(max(log2 for log2 in allowed if instructions * 2**log2 <= 50 or log2 == 0))


def picker(tensors: Tensors) -> int:
    """The ready instruction of the longest latency."""
    return int(np.argmax(np.where(tensors["ready"], tensors["latency"], -1)))


def judge(tensors: Tensors) -> float:
    return 1.5 * tensors["order"].size


MODELS = {"unroller": unroller, "picker": picker, "judge": judge}  # yours: a torch module, an ONNX session, ...


def main(command: list[str]) -> int:
    uri = command[1] if command[0] == "--at" else None  # grpc://127.0.0.1:0, say; by default a pipe
    command = command[2:] if uri else command
    with ModelServer(uri) as server, subprocess.Popen([*command, server.uri]) as compiler:
        server.answer(lambda agent, tensors: MODELS[agent](tensors), seconds=30)
        return compiler.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
