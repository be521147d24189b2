# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cost of four agents in `llc -O2` of functions with about 200 live ranges, in process and over gRPC; and the gain of a second worker."""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.allocation import llc, optimized
from benchmarks.deployment import REPEATS, TINY, fastest
from benchmarks.report import Figure
from mlcb_gym import toolchain
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.heuristic import Heuristic
from mlcb_gym.agents.network import AgentNetwork, policy_network
from mlcb_gym.agents.team import Team
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.rl4real import RL4ReAlEnv, RL4ReAlVectorEnv
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.export.export import write_policy
from mlcb_gym.rollout.advice import advice_of
from mlcb_gym.rollout.network_policy import InCompiler, advice
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import episode, play_in_order
from mlcb_gym.session import ModelServer
from mlcb_gym.training.run import recipe

FUNCTIONS, LEAST, MOST, SEED = 20, 150, 250, 1
PROGRAMS, ROUNDS = 24, 3
ALLOCATOR = (f"-load={toolchain.plugin()}", "-regalloc=mlcb")
Model = Callable[[str, Mapping[str, Any]], int | float]


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        seconds = _compile_seconds(Path(name))
    greedy, number = seconds["greedy"], len(seconds["greedy"])
    note = f"{number} functions of {LEAST} to {MOST} live ranges, {1e3 * np.median(greedy):.1f} ms by greedy, start-up taken off"
    yield Figure("compile time of the policy compiled / greedy, median", _median(seconds["compiled"], greedy), "x", 6, 3, note=note)
    for kind in ("in ONNX Runtime", "heuristic"):
        yield Figure(f"compile time, {kind} / greedy, median", _median(seconds[kind], greedy), "x", note=note)
    for kind in ("ONNX Runtime over gRPC", "PyTorch over gRPC"):
        yield Figure(f"{kind} / the same policy compiled, median", _median(seconds[kind], seconds["compiled"]), "x", note="the paper: 19 to 22")
    for kind, (must, aim) in {"in ONNX Runtime": (0.1, 0.05), "compiled": (None, None)}.items():
        outside = (seconds["trivial"] - seconds["heuristic"]).sum() / (seconds[kind] - seconds["heuristic"]).sum()
        yield Figure(f"of the decisions' time outside the model, {kind}", float(outside), "of 1", must, aim, note="by a model without work")
    one, two = np.transpose([[_episodes_per_second(workers) for workers in (1, 2)] for _ in range(ROUNDS)])
    note = f"networks in the compiler, {PROGRAMS} modules; median of {ROUNDS} rounds in turns, {(two / one).min():.2f} to {(two / one).max():.2f}"
    yield Figure("2 workers / 1, episodes per second", float(np.median(two / one)), "x", 1.6, 1.85, higher=True, note=note)


def _episodes_per_second(workers: int) -> float:
    """As evolution strategies play them, each program once."""
    programs = resolve("default/validation")[:PROGRAMS]
    with closing(RL4ReAlVectorEnv(num_envs=workers, programs=programs)) as vector:
        networks = _networks(vector.envs[0])
        decide = InCompiler(networks, vector.envs[0])(networks)
        play_in_order(vector.envs, [episode(programs[0], decide) for _ in vector.envs])
        started = time.perf_counter()
        play_in_order(vector.envs, [episode(program, decide) for program in programs])
        return len(programs) / (time.perf_counter() - started)


def _networks(env: CompilerEnv) -> Team:
    networks = policy_network(env.observation_space, env.action_space, recipe("es", {}).network, Architecture.of(env)).eval()
    assert isinstance(networks, Team)
    return networks


def _compile_seconds(folder: Path) -> Mapping[str, NDArray[np.float64]]:
    """By who allocates, the seconds of each function without those of the start-up."""
    with closing(RL4ReAlEnv(programs="embedded/train")) as env:
        networks = _networks(env)
        told = {agent.name: Heuristic("heuristic", agent.advice["choices"]) for agent in env.task_spec.agents}
        write = partial(write_policy, spec=env.task_spec.declared, trained={}, results={})
        policy, trivial = write(dict(networks), folder / "policy"), write(told, folder / "trivial")
    ahead, nothing = (compile_policy(made, folder / f"{made.name}.so") for made in (policy, trivial))
    modules = list(_functions(folder))
    asked = REPEATS * len(modules)
    with _served(_in_torch(networks), asked) as torch_uri, _served(_in_onnx(OnnxPolicy(policy)), asked) as onnx_uri:
        uris = {
            "compiled": f"aot:{ahead}",
            "in ONNX Runtime": f"onnx:{policy}",
            "trivial": f"aot:{nothing}",
            "PyTorch over gRPC": torch_uri,
            "ONNX Runtime over gRPC": onnx_uri,
        }
        flags = {"greedy": (), "heuristic": ALLOCATOR} | {kind: (*ALLOCATOR, f"-mlcb-runner={uri}") for kind, uri in uris.items()}
        seconds = np.array([fastest(*(llc(module, *own) for own in flags.values())) for module in modules])
    return dict(zip(flags, (seconds[1:] - seconds[0]).T, strict=True))


def _median(ours: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    return float(np.median(ours / others))


def _functions(folder: Path) -> Iterator[Path]:
    """A module with little in it, then one for each of some functions of the test split that have so many live ranges."""
    tiny = folder / "tiny.c"
    tiny.write_text(TINY)
    yield optimized(tiny, folder / "tiny.bc")
    found = 0
    test = resolve("default/test")
    for index in np.random.default_rng(SEED).permutation(len(test)):
        module = optimized(test[index].bitcode, folder / f"{index}.bc")
        names = subprocess.run([toolchain.tool("llvm-nm"), "--defined-only", "-j", module], check=True, capture_output=True, text=True).stdout.split()
        for name in names[:20]:
            one = folder / f"{index}.{len(name)}.{found}.bc"
            with suppress(subprocess.CalledProcessError):
                subprocess.run([toolchain.tool("llvm-extract"), f"--func={name}", module, "-o", one], check=True, capture_output=True)
                if LEAST <= _live_ranges(one) <= MOST:
                    found += 1
                    yield one
                    break
        if found == FUNCTIONS:
            return


def _live_ranges(module: Path) -> int:
    """Of its functions together, by the remarks of the allocator."""
    said = subprocess.run(llc(module, *ALLOCATOR, "-pass-remarks=mlcb"), check=True, capture_output=True, text=True).stderr
    return sum(map(int, re.findall(r"allocated (\d+) live ranges", said)))


def _in_torch(networks: Team) -> Model:
    return lambda agent, tensors: advice(cast(AgentNetwork, networks[agent]), dict(tensors))


def _in_onnx(policy: OnnxPolicy) -> Model:
    sessions = dict(zip((agent["name"] for agent in policy.manifest["spec"]["agents"]), policy.sessions, strict=True))

    def choose(agent: str, tensors: Mapping[str, Any]) -> int | float:
        session = sessions[agent]
        (logits,) = session.run(None, {given.name: tensors[given.name][np.newaxis] for given in session.get_inputs()})
        return advice_of(logits[0], dict(tensors))

    return choose


@contextmanager
def _served(model: Model, compilations: int) -> Iterator[str]:
    """A server that answers so many compilers; yields what they ask."""
    with ModelServer("grpc://127.0.0.1:0", only="rl4real") as server, ThreadPoolExecutor(1) as thread:
        answered = thread.submit(lambda: [server.answer(model) for _ in range(compilations)])
        yield server.uri
        answered.result()
