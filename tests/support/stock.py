# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An untouched opt that asks about inlining."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from mlcb_gym import toolchain
from mlcb_gym.envs.module_measure import module_measure
from mlcb_gym.session import INLINER, StockSession
from mlcb_gym.spec import TaskSpec
from tests.support.processes import listed

MODULE_INLINER = ["-passes=scc-oz-module-inliner"]


def declare(task: str, inputs: list[dict[str, Any]], advice: dict[str, Any]) -> TaskSpec:
    return TaskSpec(json.dumps({"task": task, "parameters": {}, "agents": [{"name": "advisor", "inputs": inputs, "advice": advice}]}))


def inliner(**other: Any) -> TaskSpec:
    """LLVM's own list of features, and our mask; some of them declared otherwise."""
    headers = subprocess.run([toolchain.tool("llvm-config"), "--includedir"], check=True, capture_output=True, text=True).stdout.strip()
    features = re.findall(r"M\(int64_t, \{1\}, (\w+),", Path(headers, "llvm/Analysis/InlineModelFeatureMaps.h").read_text())
    inputs = [{"name": name, "dtype": "int64"} | other.get(name, {}) for name in [*features, "inlining_default"]]
    mask = {"name": "action_mask", "dtype": "int8", "shape": [2], "role": "mask"}
    return declare("stock_inliner", [*inputs, mask], {"kind": "argmax", "name": "inlining_decision", "choices": 2})


def compilers() -> list[int]:
    return [pid for pid in listed(os.getpid()) if Path(f"/proc/{pid}/comm").read_text().strip() in ("opt", "clang", "clang-22", "llc")]


def opt(**arguments: Any) -> StockSession:
    return StockSession("opt", MODULE_INLINER, advisor=INLINER, **{"measure": module_measure(), **arguments})
