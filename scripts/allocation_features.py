# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints native/tasks/EvictionFeatures.inc or PriorityFeatures.inc: what LLVM's own advisors tell a model, as they declare it to one."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mlcb_gym import toolchain
from mlcb_gym.session import EVICTION, PRIORITY

LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
ORIGIN = (
    "// What llc's {name} advisor declares to a model, in its order and without its mask; scripts/allocation_features.py {name} prints this file."
)
ADVISORS = {"eviction": EVICTION, "priority": PRIORITY}
MASK = "mask"
PROGRAM = "define i32 @f(i32 %a, i32 %b) { %c = add i32 %a, %b ret i32 %c }"

#: LLVM's headers that say what they mean are not installed; after llvm/lib/CodeGen/MLRegAlloc*Advisor.cpp.
MEANINGS = {
    "is_free": "1 where nothing is in the register",
    "nr_urgent": "ranges in it that would be evicted although they came later, to the most of any column",
    "nr_broken_hints": "ranges in it that have the register they prefer, to the most of any column",
    "is_hint": "1 where the candidate prefers the register",
    "is_local": "ranges in it that, as the candidate, lie in one block and cannot be moved elsewhere",
    "nr_rematerializable": "ranges in it that are computed anew more cheaply than reloaded, to the most of any column",
    "nr_defs_and_uses": "instructions that read or write them, to the most of any column",
    "weighed_reads_by_max": "reads, weighted by block frequency, to the most of any column",
    "weighed_writes_by_max": "writes, weighted by block frequency, to the most of any column",
    "weighed_read_writes_by_max": "instructions that read and write, weighted by block frequency, to the most of any column",
    "weighed_indvars_by_max": "writes in exiting blocks that live on, weighted by block frequency, to the most of any column",
    "hint_weights_by_max": "copies that a hint would spare, weighted by block frequency, to the most of any column",
    "start_bb_freq_by_max": "frequency of the block where they start, to the highest of any column",
    "end_bb_freq_by_max": "frequency of the block where they end, to the highest of any column",
    "hottest_bb_freq_by_max": "frequency of their hottest block, to the highest of any column",
    "liverange_size": "slots from their start to their end, to the most of any column",
    "use_def_density": "spill weight of the heaviest, to the highest of any column",
    "max_stage": "latest stage of the ranges: 0 new, 1 assign, 2 split, 3 split again, 4 spill, 5 done",
    "min_stage": "earliest stage of the ranges",
    "progress": "ranges that wait for a register, to those at the start of the function",
    "li_size": "slots that the range covers",
    "stage": "its stage: 0 new, 1 assign, 2 split, 3 split again, 4 spill, 5 done",
    "weight": "its spill weight",
}
#: Where not any count is possible.
HIGHEST = {"is_free": "1", "is_hint": "1", "max_stage": "5", "min_stage": "5", "stage": "5", "progress": "1e9", "weight": "1e30"}


def declared(advisor: Sequence[str]) -> list[dict[str, object]]:
    """The features in the first line that llc writes on its channel; nobody answers it."""
    with tempfile.TemporaryDirectory() as folder:
        base, program = Path(folder, "channel"), Path(folder, "program.ll")
        program.write_text(PROGRAM)
        base.with_suffix(".in").touch()
        options = [option.format(base=base) for option in advisor]
        command: list[str | Path] = [toolchain.tool("llc"), "-O2", *options, program, "-o", "/dev/null"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as compiler:
            try:
                compiler.wait(2)
            except subprocess.TimeoutExpired:
                compiler.kill()  # it spins where nobody answers
        header, _, _ = base.with_suffix(".out").read_bytes().partition(b"\n")
    features: list[dict[str, object]] = json.loads(header)["features"]
    return features


def declarations(name: str) -> str:
    """The file's text."""
    lines = [LICENCE, ORIGIN.format(name=name)]
    for feature in declared(ADVISORS[name]):
        what, type_ = str(feature["name"]), str(feature["type"])
        if what != MASK:
            shape = feature["shape"]
            assert isinstance(shape, list)
            high = HIGHEST.get(what, "1" if type_ == "float" else "1e9")
            lines.append(f'TENSOR({type_}, {what}, ({shape[-1]}), 0, {high}, "{MEANINGS[what]}")')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(declarations(sys.argv[1]), end="")
