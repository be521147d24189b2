# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A learner on a pipe of a stock compiler: whatever the task and the tool, it is asked, and then gets the end of its episode."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mlcb_gym import _native, toolchain
from mlcb_gym.corpus.programs import resolve
from tests.support.loops import SUMS

CUBE = "static float cube(float x) { return x * x * x; }\n"
LOOPS = CUBE + SUMS.replace("sum += d[i]", "sum += cube(d[i])").replace("return sum", "return sum + cube(n)")
PRESSURE = "embedded/validation/chacha20"
SECONDS = 60.0
LEAF = "int leaf(int x) { return x + 1; }"
LLC_FLAGS = ["-O2", "-filetype=obj", "-relocation-model=pic"]
PARAMETERS = {"posetrl": {"actions": ["function(sroa)", "function(gvn)"], "max_steps": 2}}
CASES = [
    ("posetrl", "clang", "horizon"),
    ("inliner", "clang", "exhausted"),
    ("inliner", "opt", "exhausted"),
    ("loop_distribution", "clang", "exhausted"),
    ("loop_distribution", "opt", "exhausted"),
    ("eviction", "clang", "exhausted"),
    ("eviction", "llc", "exhausted"),
    ("priority", "clang", "exhausted"),
    ("priority", "llc", "exhausted"),
]


def compiler(tool: str, program: Path, output: Path, uri: str) -> list[str]:
    """A stock tool whose own pipeline asks at a URI."""
    plugin, runner = str(toolchain.plugin()), f"-mlcb-runner={uri}"
    options = {
        "clang": [f"-fpass-plugin={plugin}", "-mllvm", runner, "-O3", "-w", "-c"],
        "opt": [f"-load-pass-plugin={plugin}", runner, "-passes=default<O3>"],
        "llc": [f"-load={plugin}", runner, *LLC_FLAGS],
    }
    return [str(toolchain.tool(tool)), *options[tool], str(program), "-o", str(output)]


def advice(message: _native.Message) -> int | float:
    """The last action that is allowed, or a value."""
    mask = message.tensors.get("action_mask")
    return 0.0 if mask is None else int(np.flatnonzero(mask)[-1])


def episode(task: str, tool: str, program: Path, folder: Path) -> list[_native.Message]:
    """All that the learner of a compilation receives after the greeting."""
    base = folder / "channel"
    for end in ("in", "out"):
        os.mkfifo(f"{base}.{end}")
    learner = _native.LearnerEnd.fifo(str(base))
    process = subprocess.Popen(compiler(tool, program, folder / "output", f"pipe:{base}"), stderr=subprocess.PIPE, text=True)
    received: list[_native.Message] = []
    try:
        learner.hello(task, json.dumps(PARAMETERS.get(task, {})), [], SECONDS, "bitstream")
        while not received or received[-1].kind != "bye":
            received.append(learner.receive(SECONDS))
            if received[-1].kind == "observation":
                learner.advise(advice(received[-1]))
        _, errors = process.communicate(timeout=SECONDS)
    finally:
        learner.close()
        process.kill()
        process.wait()
    assert (process.returncode, errors) == (0, "")
    return received


def bitcode(program: Path, folder: Path, *, optimized: bool = False) -> Path:
    """A program with the attributes of -O3, before its passes or after them."""
    flags = ["-O3", "-w", *(() if optimized else ("-Xclang", "-disable-llvm-passes")), "-emit-llvm", "-c"]
    subprocess.run([toolchain.tool("clang"), *flags, program, "-o", folder / "program.bc"], check=True)
    return folder / "program.bc"


def written(source: str, folder: Path) -> Path:
    (folder / "program.c").write_text(source)
    return folder / "program.c"


@pytest.mark.parametrize(("task", "tool", "reason"), CASES)
def test_learner_gets_the_end_of_its_episode(task: str, tool: str, reason: str, tmp_path: Path) -> None:
    program = resolve(PRESSURE)[0].bitcode if task in ("eviction", "priority") else written(LOOPS, tmp_path)
    *asked, end, bye = episode(task, tool, bitcode(program, tmp_path, optimized=tool == "llc"), tmp_path)
    assert asked
    assert {message.kind for message in asked} == {"observation"}
    assert (end.kind, end.reason, bye.kind) == ("episode_end", reason, "bye")


def test_learner_hears_of_a_module_without_decisions(tmp_path: Path) -> None:
    (end, bye) = episode("inliner", "clang", bitcode(written(LEAF, tmp_path), tmp_path), tmp_path)
    assert (end.kind, end.reason, bye.kind) == ("episode_end", "no_decisions", "bye")
    assert end.tensors["action_mask"].any()
