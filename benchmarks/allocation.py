# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What asking a policy costs in LLVM's register allocator: `llc -O2`, and an episode of `RegAllocEviction-v1`."""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import episodes
from benchmarks.deployment import fastest
from benchmarks.report import Figure
from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.eviction import EvictionEnv
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.envs.regalloc import LLC
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.policies import shipped

PROGRAMS, SEED = 20, 1


def figures() -> Iterator[Figure]:
    rng = np.random.default_rng(SEED)
    test = resolve("default/test")
    with tempfile.TemporaryDirectory() as folder:
        programs = [optimized(test[i].bitcode, Path(folder) / f"{test[i].digest}.bc") for i in rng.permutation(len(test))[:PROGRAMS]]
        for task in ("eviction", "priority"):
            yield from _compile_times(task, programs, Path(folder))
    yield from episodes.outside_llvm(EvictionEnv)
    yield from episodes.per_second(EvictionEnv, _evict_nothing)


def _compile_times(task: str, programs: Sequence[Path], folder: Path) -> Iterator[Figure]:
    """Of the policy that ships, against `llc` without one."""
    policy = shipped()[task]
    ahead, runtime = _asking(f"aot:{compile_policy(policy, folder / f'{task}.so')}"), _asking(f"onnx:{policy}")
    kinds = {"ahead of time": ahead, "in ONNX Runtime": runtime, "ahead of time, guarded": [*ahead, "-mlcb-guard"]}
    seconds = np.array([fastest(llc(program), *(llc(program, *flags) for flags in kinds.values())) for program in programs])
    note = f"{task}, {PROGRAMS} test modules of {1e3 * np.median(seconds[:, 0]):.0f} ms, start-up included"
    for kind, ratio in zip(kinds, np.median(seconds[:, 1:] / seconds[:, :1], axis=0), strict=True):
        must = 1.3 if kind == "ahead of time" else None
        yield Figure(f"compile time of a policy {kind} / llc -O2, median", float(ratio), "x", must, note=note)


def _evict_nothing(env: CompilerEnv, observation: Observation) -> Action:
    """The last column that is allowed: what LLVM's own advisor would do, an untouched compiler does not tell."""
    return env.action(int(np.flatnonzero(observation["action_mask"])[-1]))


def optimized(program: Path, output: Path) -> Path:
    """A source or bitcode as clang -O2 has it before code generation."""
    command: list[str | Path] = [toolchain.tool("clang"), "-O2", "-w", "-c", "-emit-llvm", program, "-o", output]
    subprocess.run(command, check=True)
    return output


def _asking(uri: str) -> list[str]:
    return [f"-load={toolchain.plugin()}", f"-mlcb-runner={uri}"]


def llc(program: Path, *flags: str) -> list[str | Path]:
    """The command that generates code, and keeps none."""
    return [toolchain.tool("llc"), *flags, *LLC, program, "-o", "/dev/null"]
