# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training: what more processes and more compile servers gain, and what RLlib, a start and a sweep cost."""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import psutil
import ray
from ray.rllib.env.env_runner import EnvRunner

import mlcb_gym  # noqa: F401  (registers the environments)
from benchmarks.processes import family
from benchmarks.report import Figure
from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.profile import watch_model
from mlcb_gym.training.ray_session import start_ray
from mlcb_gym.training.run import recipe
from mlcb_gym.training.trainer import Trainer
from mlcb_gym.training.training_env import Environment

PROGRAMS, JUDGE = "embedded/train", "embedded/validation/huffman"
ENVIRONMENT = Environment("PosetRL-v0", {"programs": PROGRAMS})
MLCB = [sys.executable, "-m", "mlcb_gym"]
ROUNDS, STEPS, SEED = 3, 400, 1
SERVED, SERVED_STEPS, COMPILATIONS = (16, 64), 1600, 20
"""Environments that step together wait for the last of them: the more there are, the more evenly two servers share their work."""
TRIALS, UPDATES = 4, 4
SMALL = ["--programs", PROGRAMS, "--validation", JUDGE, "--set", "steps_per_iteration=512", "--iterations", str(UPDATES)]


def figures() -> Iterator[Figure]:
    one, two = np.transpose([[_sampled_per_second(runners) for runners in (1, 2)] for _ in range(ROUNDS)])
    note = f"an environment in each, nothing learns; median of {ROUNDS} rounds in turns, {(two / one).min():.2f} to {(two / one).max():.2f}"
    yield Figure("2 processes that sample / 1, steps per second", float(np.median(two / one)), "x", 1.6, 1.85, higher=True, note=note)
    note = "clang on a core of its own; compile servers on this machine gain no more"
    yield Figure("2 compilers / 1, throughput", _ceiling(), "x", note=note)
    for number in SERVED:
        with _server(0) as first, _server(1) as second:
            alone, both = np.transpose([[_served_per_second(uri, number) for uri in (first, f"{first},{second}")] for _ in range(ROUNDS)])
        note = f"a core for each; median of {ROUNDS} rounds in turns, {(both / alone).min():.2f} to {(both / alone).max():.2f}"
        must, aim = (1.6, 1.85) if number == max(SERVED) else (None, None)
        yield Figure(f"2 compile servers / 1, {number} environments", float(np.median(both / alone)), "x", must, aim, higher=True, note=note)
    cpu, wall = _outside_milliseconds()
    note = f"PPO, CPU time without the model's; {wall:.2f} ms of wall time, beside compilers on all cores"
    yield Figure("RLlib and Python per step, 8 environments", cpu, "ms", 0.6, 0.35, note=note)
    with tempfile.TemporaryDirectory(prefix="mlcb-") as name:
        folder = Path(name)
        yield Figure("mlcb train with one update", _first_update(folder / "first"), "s", 20, 10, note="the recipe of posetrl, embedded/train")
        yield Figure(
            "peak memory of a training with 2 processes that sample", _peak_gigabytes(folder / "peak"), "GB", 4, 3, note="proportional set size"
        )
        trials, swept = _seconds_of_trials(folder), _seconds(["sweep", "posetrl", "-o", folder / "sweep", *SMALL, *_sweep()])
        note = f"{TRIALS} trials of {UPDATES} updates: {swept:.0f} s, one by one {trials:.0f} s"
        yield Figure("a sweep / its trials one by one, wall time", swept / trials, "x", 1.15, 1.05, note=note)


def _sampled_per_second(runners: int) -> float:
    """Steps in processes that sample at once, by a policy that has learnt nothing."""
    start_ray(3)
    changes = {"num_env_runners": runners, "num_envs": 1, "steps_per_iteration": STEPS, "statistics_episodes": 1}
    with closing(Trainer.begin(ENVIRONMENT, recipe("ppo", changes), [JUDGE])) as trainer:
        group = trainer.algorithm.env_runner_group

        def sample(steps: int) -> list[Any]:
            return group.foreach_env_runner(lambda runner: _sample(runner, steps), local_env_runner=False)

        sample(20)
        started = time.perf_counter()
        return sum(sample(STEPS)) / (time.perf_counter() - started)


def _sample(runner: EnvRunner, steps: int) -> int:
    """Sample in a runner's process; only a number travels back."""
    return sum(len(episode) for episode in runner.sample(num_timesteps=steps, explore=True))


def _ceiling() -> float:
    """The gain of two cores over one, which may be threads of one core, for compilers that do not know of one another."""
    return 2 * _compile_seconds(0) / _compile_seconds(0, 1)


def _compile_seconds(*cores: int) -> float:
    (source,) = corpora.embedded("embedded/train/aho_corasick")
    compile_it = [str(toolchain.tool("clang")), "-O3", "-w", "-c", str(source), "-o", "/dev/null"]
    command = ["bash", "-c", f"for i in $(seq {COMPILATIONS}); do {shlex.join(compile_it)}; done"]
    started = time.perf_counter()
    running = [subprocess.Popen(["taskset", "--cpu-list", str(core), *command]) for core in cores]
    for each in running:
        each.wait()
    return time.perf_counter() - started


def _served_per_second(session: str, number: int) -> float:
    """Steps of random actions in environments on compile servers."""
    rng = np.random.default_rng(SEED)
    arguments: dict[str, Any] = {"programs": PROGRAMS, "session": session, "dense": False}
    with closing(gymnasium.make_vec("PosetRL-v0", num_envs=number, vectorization_mode="vector_entry_point", **arguments)) as envs:
        observation, _ = envs.reset(seed=SEED)
        started = time.perf_counter()
        for _ in range(SERVED_STEPS // number):
            actions = np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in observation["action_mask"]])
            observation, *_ = envs.step(actions)
        return envs.unwrapped.timing.steps / (time.perf_counter() - started)


@contextmanager
def _server(core: int) -> Iterator[str]:
    """A compile server on one core; yields its address."""
    command = ["taskset", "--cpu-list", str(core), *MLCB, "serve", "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def _outside_milliseconds() -> tuple[float, float]:
    """CPU time of this process for a step without the model's, in updates after the first; and wall time, in which compilers take its cores."""
    with closing(Trainer.begin(ENVIRONMENT, recipe("ppo", {"num_envs": 8}), [JUDGE])) as trainer:
        model = watch_model(trainer.algorithm, time.thread_time)
        trainer.update()
        before, steps, cpu = trainer.shares, trainer.steps, time.thread_time() - model.seconds
        for _ in range(ROUNDS):
            trainer.update()
        after, cpu = trainer.shares, time.thread_time() - model.seconds - cpu
        assert before is not None
        assert after is not None
        wall = after.environment + after.rllib - before.environment - before.rllib
        return 1e3 * cpu / (trainer.steps - steps), 1e3 * wall / (trainer.steps - steps)


def _first_update(output: Path) -> float:
    """Seconds of a command that makes one update, with its validations before and after it."""
    ray.shutdown()
    whole = _seconds(["train", "posetrl", "-o", output, "--programs", PROGRAMS, "--validation", JUDGE, "--iterations", "1"])
    return whole if read_run(output / "last")["progress"]["iteration"] == 1 else float("nan")


def _peak_gigabytes(output: Path) -> float:
    """The most physical memory that a training and all its processes held, pages that several map shared among them."""
    command = [*MLCB, "train", "posetrl", "-o", str(output), *SMALL, "--runners", "2", "--algo", "ppo"]
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as training:
        while training.poll() is None:
            peak = max(peak, sum(map(_proportional_bytes, family(training.pid))))
            time.sleep(0.2)
    return peak / 2**30 if training.returncode == 0 else float("nan")


def _proportional_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0


def _sweep() -> list[str]:
    return ["--algo", "ppo", "--trials", str(TRIALS), "--scheduler", "none", "--search", "lr=log(1e-4,1e-3)"]


def _seconds_of_trials(folder: Path) -> float:
    return sum(_seconds(["train", "posetrl", "-o", folder / str(seed), *SMALL, "--algo", "ppo", "--seed", str(seed)]) for seed in range(TRIALS))


def _seconds(arguments: Sequence[str | Path]) -> float:
    started = time.perf_counter()
    subprocess.run([*MLCB, *arguments], check=True, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=900)
    return time.perf_counter() - started
