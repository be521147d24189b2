# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of PosetRL against one process per step doing the same work, and what of it is not LLVM's."""

import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.report import Figure
from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs.action_lists import read_actions
from mlcb_gym.envs.posetrl import PosetRLEnv

PROGRAMS, EPISODES, STEPS, SEED = 4, 5, 15, 1
INSTRUCTIONS = 5000
ACTIONS = [text for text in read_actions("odg") if text != "stop"]


def figures() -> Iterator[Figure]:
    programs = programs_of_about(INSTRUCTIONS)
    rng = np.random.default_rng(SEED)
    sequences = [(program, rng.integers(len(ACTIONS), size=STEPS)) for program in programs for _ in range(EPISODES)]
    plain, plain_outside, resets, _ = _env_seconds(sequences, reward="none")
    sized, _, _, cache = _env_seconds(sequences, reward="size")
    baseline, baseline_sized = _process_seconds(sequences[::EPISODES])
    note = f"{len(sequences)} episodes of {STEPS} random steps, {INSTRUCTIONS} instructions, caches cold"
    yield Figure("a process per step / env step, no size", baseline / plain, "x", 8, 15, higher=True, note=note)
    yield Figure("a process per step / env step, size every step", baseline_sized / sized, "x", 2.5, 5, higher=True)
    yield from _hit_rates(cache)
    yield Figure("outside LLVM per step", 1e6 * plain_outside, "us", 300, 100, note="step - the compiler's own turn")
    yield Figure("env step, no size", 1e3 * plain, "ms")
    yield Figure("env step, size every step", 1e3 * sized, "ms")
    yield Figure("opt + llvm-ir2vec", 1e3 * baseline, "ms")
    yield Figure("opt + llvm-ir2vec + llc + llvm-size", 1e3 * baseline_sized, "ms")
    yield Figure("reset", 1e3 * resets, "ms")


def programs_of_about(instructions: int) -> list[Program]:
    """The modules of the default corpus that are nearest to a size."""
    from mlcb_gym.corpus import corpora

    modules = sorted(corpora.manifest("default"), key=lambda m: abs(m.instructions - instructions))
    return [resolve(module.uri)[0] for module in modules[:PROGRAMS]]


def _env_seconds(sequences: Sequence[tuple[Program, np.ndarray]], *, reward: str) -> tuple[float, float, float, Mapping[str, int]]:
    """Mean seconds of a step, of what of it is not the compiler's turn, and of a reset; in a fresh worker, and what its cache answered."""
    steps, llvm, resets = [], [], []
    with closing(PosetRLEnv(programs=[p for p, _ in sequences], actions=[*ACTIONS, "stop"], reward=reward, metrics=("llvm_seconds",))) as env:
        for program, sequence in sequences:
            started = time.perf_counter()
            observation, _ = env.reset(options={"program": program})
            resets.append(time.perf_counter() - started)
            for action in sequence:
                if not observation["action_mask"][action]:
                    continue
                started = time.perf_counter()
                observation, *_, ended, _, info = env.step(action)
                steps.append(time.perf_counter() - started)
                llvm.append(info["llvm_seconds"])
                if ended:
                    break
        env.reset()
        cache = env.timing.cache
    outside = np.array(steps) - np.array(llvm)
    return float(np.mean(steps)), float(np.median(outside)), float(np.mean(resets)), cache


def _hit_rates(cache: Mapping[str, int]) -> Iterator[Figure]:
    """Sizes come from those of functions; a module is looked up whole where that is not exact."""
    for what in ("function", "module"):
        hits, misses = cache[f"{what}_hits"], cache[f"{what}_misses"]
        yield Figure(f"cache hits, of {hits + misses} {what}s", hits / max(hits + misses, 1), "of 1")


def _process_seconds(sequences: Sequence[tuple[Program, np.ndarray]]) -> tuple[float, float]:
    """Mean seconds of a step of the baseline without and with the size."""
    plain, sized = [], []
    with tempfile.TemporaryDirectory() as folder:
        module, code = Path(folder) / "m.bc", Path(folder) / "m.o"
        for program, sequence in sequences:
            module.write_bytes(program.bitcode.read_bytes())
            for action in sequence:
                started = time.perf_counter()
                _run("opt", f"-passes={ACTIONS[action]}", module, "-o", module)
                _run("llvm-ir2vec", "embeddings", "--level=func", f"--ir2vec-vocab-path={toolchain.vocabulary()}", "--ir2vec-kind=flow-aware", module)
                plain.append(time.perf_counter() - started)
                _run("llc", "-O2", "-relocation-model=pic", "-filetype=obj", module, "-o", code)
                _run("llvm-size", "-A", code)
                sized.append(time.perf_counter() - started)
    return float(np.mean(plain)), float(np.mean(sized))


def _run(tool: str, *arguments: str | Path) -> None:
    subprocess.run([toolchain.tool(tool), *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
