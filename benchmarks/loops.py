# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cost of asking a policy how loops are split: in `clang -O3` over the loop kernels, and in process against a warm Python server.

The networks are of the size of the policy that ships, and begin as training does: they split nothing, so that all compile the same. Of
every compilation that of one kernel alone is taken off, start-up, loading and the first questions with it; the median of the ratios within a round
counts. The questions that clang asks are then put to every runner from here, and to a server over a pipe, which has answered them all before.
"""

import json
import multiprocessing
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.report import Figure
from benchmarks.startup import child_seconds
from mlcb_gym import _native, toolchain
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import policy_network
from mlcb_gym.agents.team import Team
from mlcb_gym.corpus.loops.kernels import Kernel, kernels, source
from mlcb_gym.envs.loop_distribution import LoopDistributionEnv
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.export.export import write_policy
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.advice import advice_of
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.session import ModelServer
from mlcb_gym.spec import AGENT

ROUNDS, COPIES, REPEATS = 15, 2, 15
SECONDS = 120.0
AGENTS = ("selector", "distributor")
Question = tuple[int, dict[str, np.ndarray]]
Model = Callable[[str, Mapping[str, Any]], int]


def figures() -> Iterator[Figure]:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="mlcb-") as name:
        policy = Path(name) / "policy"
        servers = {"PyTorch": _in_torch(_network(policy)), "ONNX Runtime": _in_onnx(OnnxPolicy(policy))}
        uris = {"onnx": f"onnx:{policy}", "aot": f"aot:{compile_policy(policy, policy / 'policy.so')}"}
        suite = [replace(kernel, name=f"{kernel.name}_{copy}") for copy in range(COPIES) for kernel in kernels()]
        whole, part = (_program(Path(name) / f"{len(chosen)}.c", chosen) for chosen in (suite, suite[:1]))
        seconds = _compile_seconds(["", *uris.values()], whole, part)
        questions = _questions(servers["ONNX Runtime"], whole)
        served = {server: _served(model, f"{name}/{server.split()[0]}", policy, questions) for server, model in servers.items()}
        asked = {way: _asked(uri, None, questions) for way, uri in uris.items()}
    plain = seconds.pop("")
    yield Figure(
        f"clang -O3 of {len(suite) - 1} loop kernels", 1e3 * float(np.median(plain)), "ms", note=f"processor time, {len(questions)} decisions"
    )
    for way, uri in uris.items():
        share = 100 * (float(np.median(seconds[uri] / plain)) - 1)
        yield Figure(f"deciding by {way} / clang -O3", share, "%", 10, 3, note="processor time, start-up taken off, features in it")
    for way in uris:
        for server, must, aim in (("PyTorch", 5, 16), ("ONNX Runtime", None, None)):
            note = f"{1e6 * asked[way]:.0f} us, {1e6 * served[server]:.0f} us from Python"
            yield Figure(f"decisions by {way} / by a server with {server}", served[server] / asked[way], "x", must, aim, higher=True, note=note)


def _program(path: Path, chosen: Sequence[Kernel]) -> Path:
    path.write_text(source(chosen))
    return path


def _compile_seconds(uris: Sequence[str], whole: Path, part: Path) -> dict[str, np.ndarray]:
    """Processor time of a program without that of another, of every round, in which all are compiled."""
    rounds = [[_seconds(uri, whole) - _seconds(uri, part) for uri in uris] for _ in range(ROUNDS)]
    return dict(zip(uris, np.transpose(rounds), strict=True))


def _seconds(uri: str, program: Path) -> float:
    used = child_seconds()
    subprocess.run(_clang(uri, program), check=True, timeout=SECONDS)
    return child_seconds() - used


def _clang(uri: str, program: Path) -> list[str | Path]:
    policy = [f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-runner={uri}"] if uri else []
    return [toolchain.tool("clang"), *policy, "-w", "-O3", "-c", program, "-o", "/dev/null"]


def _questions(model: Model, program: Path) -> list[Question]:
    """Return the questions that clang asks about a program, but for the embeddings, which a server is shown and the policy is not."""
    asked: list[Question] = []

    def recorded(agent: str, tensors: Mapping[str, Any]) -> int:
        seen = {name: np.array(tensor) for name, tensor in tensors.items()}
        asked.append((AGENTS.index(agent), seen | {"embedding": seen["embedding"][:, :0]}))
        return model(agent, tensors)

    with ModelServer(only="loop_distribution") as server:
        compiler = subprocess.Popen(_clang(server.uri, program))
        try:
            server.answer(recorded, seconds=SECONDS)
            compiler.wait(SECONDS)
        finally:
            compiler.kill()
            compiler.wait()
    return asked


def _asked(uri: str, spec: str | None, questions: Sequence[Question]) -> float:
    """Seconds of a question, on average: of each the fastest of several times that all are asked."""
    with closing(_native.Compiler.open(uri, spec)) as compiler:
        return float(np.min([[_question_seconds(compiler, question) for question in questions] for _ in range(REPEATS)], axis=0).mean())


def _question_seconds(compiler: _native.Compiler, question: Question) -> float:
    started = time.perf_counter()
    compiler.observe(*question)
    return time.perf_counter() - started


def _served(model: Model, base: str, policy: Path, questions: Sequence[Question]) -> float:
    with closing(_native.Compiler.open(f"onnx:{policy}")) as compiler:
        spec = compiler.spec
    with _serving(model, f"pipe:{base}") as uri:
        return _asked(uri, spec, questions)


@contextmanager
def _serving(model: Model, uri: str) -> Iterator[str]:
    """A process that answers one compiler."""
    with ModelServer(uri) as server:
        process = multiprocessing.get_context("fork").Process(target=server.answer, args=(model,), kwargs={"seconds": SECONDS})
        process.start()
        try:
            yield uri
            process.join(SECONDS)
        finally:
            process.kill()
            process.join()


def _network(folder: Path) -> Team:
    """Writes it as a policy, too."""
    ships = OnnxPolicy(shipped()["loop_distribution"])
    with closing(LoopDistributionEnv(programs="loops/train", reward="none", **ships.env_arguments)) as env:
        torch.manual_seed(1)
        config = NetworkConfig(**ships.manifest["trained"]["recipe"]["network"])
        network = policy_network(env.observation_space, env.action_space, config, Architecture.of(env)).eval()
        assert isinstance(network, Team)
        write_policy(dict(network), folder, spec=json.loads(env.task_spec.json), trained={}, results={})
    return network


def _in_torch(network: Team) -> Model:
    @torch.inference_mode()
    def answer(agent: str, tensors: Mapping[str, Any]) -> int:
        seen = dict(tensors)
        return int(advice_of(network[agent](batch([seen]))[0].numpy(), seen))

    return answer


def _in_onnx(policy: OnnxPolicy) -> Model:
    def answer(agent: str, tensors: Mapping[str, Any]) -> int:
        return int(policy.advice({AGENT: AGENTS.index(agent)} | {name: dict(tensors) for name in AGENTS}))

    return answer
