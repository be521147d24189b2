# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The price that one `clang -c` of a small file pays to have a policy in its process at all, the work of the passes left out.

The policy's only action is -Oz's own pipeline, so that all compile the same; its model has the size of the one that ships. Rounds
compile without a policy and with each runner in turn, and the median of the differences within a round counts.
"""

import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from gymnasium import spaces

from benchmarks.report import Figure
from mlcb_gym import toolchain
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import LogitsNetwork
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.export.aot import compile_policy, compiled
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.deployed import runner_uri
from mlcb_gym.export.export import write_policy
from mlcb_gym.policies import shipped

Rounds = list[dict[str, tuple[float, float]]]
ROUNDS, WARM, FUNCTIONS = 31, 3, 25
LINE = "int main(void) { return 0; }\n"
FUNCTION = """
int f{0}(const int *a, int n) {{
  int sum = 0;
  for (int i = 0; i < n; i++)
    if (a[i] % {1})
      sum += a[i] * i;
  return sum;
}}
"""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="mlcb-") as name:
        folder = Path(name)
        source = folder / "small.c"
        source.write_text("".join(FUNCTION.format(i, i + 2) for i in range(FUNCTIONS)))
        rounds = _rounds(source, _configs(folder, source))
        (folder / "line.c").write_text(LINE)
        shipping = _rounds(folder / "line.c", _shipping(folder))
    lines = len(FUNCTION.strip().splitlines()) * FUNCTIONS
    base = float(np.median([times["without"][0] for times in rounds]))
    yield Figure(f"clang -Oz -c of {lines} lines without a policy", 1e3 * base, "ms")
    for kind, must, aim in (("plugin", None, None), ("onnx", 60, 30), ("aot", 5, 1)):
        wall, cpu = _more(rounds, kind)
        yield Figure(f"{kind}, more than without", 1e3 * wall, "ms", must, aim, note=f"{1e3 * cpu:.1f} ms of CPU; median of {ROUNDS}")
    for kind in filter("without".__ne__, shipping[0]):
        wall, cpu = _more(shipping, kind)
        yield Figure(f"one line, {kind}, more than without", 1e3 * wall, "ms", 12, 5, note=f"{1e3 * cpu:.1f} ms of CPU; its passes' work counts")


def _more(rounds: Rounds, kind: str) -> tuple[float, float]:
    """Wall and processor time beyond those without a policy: medians of the differences within a round."""
    wall, cpu = (float(np.median([times[kind][i] - times["without"][i] for times in rounds])) for i in (0, 1))
    return wall, cpu


def _rounds(source: Path, configs: Iterable[tuple[str, Path]]) -> Rounds:
    """Wall and processor time of compiling, without a policy and with each configuration, in turns."""
    commands = {"without": _clang(source)} | {kind: _clang(source, f"--config={config}") for kind, config in configs}
    return [{kind: _seconds(command) for kind, command in commands.items()} for _ in range(WARM + ROUNDS)][WARM:]


def _shipping(folder: Path) -> Iterator[tuple[str, Path]]:
    """A configuration of each policy that ships, as `mlcb clang-config` writes it."""
    for task, policy in shipped().items():
        yield task, write_clang_config(folder / f"{task}.cfg", [policy], uri=lambda policy: runner_uri(compiled(policy)))


def _configs(folder: Path, source: Path) -> Iterator[tuple[str, Path]]:
    policy = _policy(folder / "policy", source)
    policies: dict[str, list[Path]] = {"plugin": [], "onnx": [policy], "aot": [compile_policy(policy, folder / "policy.so")]}
    for kind, chosen in policies.items():
        write_clang_config(folder / f"{kind}.cfg", chosen)
        yield kind, folder / f"{kind}.cfg"


def _policy(folder: Path, source: Path) -> Path:
    """Untrained: there is nothing to choose."""
    env = PosetRLEnv(programs=source, actions=["default<Oz>"], max_steps=1)
    try:
        assert isinstance(env.observation_space, spaces.Dict)
        assert isinstance(env.action_space, spaces.Discrete)
        torch.manual_seed(1)
        network = LogitsNetwork(env.observation_space, env.action_space, NetworkConfig(hidden=(64,)), Architecture.of(env))
        return write_policy(network.eval(), folder, spec=json.loads(env.task_spec.json), trained={}, results={})
    finally:
        env.close()


def _clang(source: Path, *options: str) -> list[str | Path]:
    return [toolchain.tool("clang"), *options, "-Oz", "-Wno-backend-plugin", "-c", source, "-o", os.devnull]


def _seconds(command: list[str | Path]) -> tuple[float, float]:
    """Wall time, and processor time of the process and those that it started."""
    started, used = time.perf_counter(), child_seconds()
    subprocess.run(command, check=True)
    return time.perf_counter() - started, child_seconds() - used


def child_seconds() -> float:
    """Processor time of all children of this process that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
