# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it costs to ask a policy how loops are split, in `clang -O3` over the loop kernels: in the compiler's process, or a warm Python server.

The networks are of the size that `mlcb train loop_distribution` trains and begin as it does: they split nothing, so that all compile the same.
Of every compilation that of one kernel alone is taken off, start-up, loading and the first questions with it; the median of what is compared within
a round counts.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.report import Figure
from benchmarks.startup import child_seconds
from mlcb_gym import toolchain
from mlcb_gym.agents.network import policy_network
from mlcb_gym.agents.team import Team
from mlcb_gym.corpus.kernels import Kernel, kernels, source
from mlcb_gym.envs.loop_distribution import LoopDistributionEnv
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.export.export import write_policy
from mlcb_gym.export.parity import OnnxPolicy
from mlcb_gym.session import ModelServer
from mlcb_gym.spec import AGENT
from mlcb_gym.training.es import Es
from mlcb_gym.training.policy import advised, batch

ROUNDS, COPIES = 15, 4
SECONDS = 120.0
Model = Callable[[str, Mapping[str, Any]], int]


@dataclass(frozen=True)
class Compile:
    """One way to compile: with ``uri`` a policy in process, with ``model`` one that is served here."""

    uri: str = ""
    model: Model | None = None

    def seconds(self, program: Path) -> np.ndarray:
        """Wall time, and processor time of the compiler."""
        with ExitStack() as entered:
            server = entered.enter_context(ModelServer(only="loop_distribution")) if self.model else None
            started, used = time.perf_counter(), child_seconds()
            compiler = subprocess.Popen(_clang(program, server.uri if server else self.uri))
            try:
                if server and self.model:
                    server.answer(self.model, seconds=SECONDS)
                compiler.wait(SECONDS)
            finally:
                compiler.kill()
                compiler.wait()
            return np.array([time.perf_counter() - started, child_seconds() - used])


def figures() -> Iterator[Figure]:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="mlcb-") as name:
        policy = Path(name) / "policy"
        network = _network(policy)
        compiled = compile_policy(policy, policy / "policy.so")
        servers = {"PyTorch": _in_torch(network), "ONNX Runtime": _in_onnx(OnnxPolicy(policy))}
        ways = {"": Compile(), "onnx": Compile(f"onnx:{policy}"), "aot": Compile(f"aot:{compiled}")}
        ways |= {server: Compile(model=model) for server, model in servers.items()}
        suite = [replace(kernel, name=f"{kernel.name}_{copy}") for copy in range(COPIES) for kernel in kernels()]
        whole, part = (_program(Path(name) / f"{len(chosen)}.c", chosen) for chosen in (suite, suite[:1]))
        decisions = _decisions(servers["PyTorch"], whole) - _decisions(servers["PyTorch"], part)
        seconds = _rounds(ways, whole, part)
    plain = seconds.pop("")
    yield Figure(f"clang -O3 of {len(suite) - 1} loop kernels", 1e3 * float(np.median(plain[:, 0])), "ms", note=f"{decisions} decisions")
    each = {way: float(np.median(total[:, 0] - plain[:, 0])) / decisions for way, total in seconds.items()}
    for way in ("onnx", "aot"):
        share = float(np.median(seconds[way][:, 1] / plain[:, 1])) - 1
        yield Figure(f"decisions by {way} / clang -O3", 100 * share, "%", 10, 3, note="processor time, start-up taken off, features in it")
        for server, must, aim in (("PyTorch", 5, 16), ("ONNX Runtime", None, None)):
            note = f"{1e6 * each[way]:.0f} us, {1e6 * each[server]:.0f} us"
            yield Figure(
                f"decisions a second by {way} / by a Python server with {server}", each[server] / each[way], "x", must, aim, higher=True, note=note
            )


def _program(path: Path, chosen: Sequence[Kernel]) -> Path:
    path.write_text(source(chosen))
    return path


def _decisions(model: Model, program: Path) -> int:
    asked: list[str] = []

    def counted(agent: str, tensors: Mapping[str, Any]) -> int:
        asked.append(agent)
        return model(agent, tensors)

    Compile(model=counted).seconds(program)
    return len(asked)


def _rounds(ways: Mapping[str, Compile], whole: Path, part: Path) -> dict[str, np.ndarray]:
    """Seconds of a program without those of another, ``[rounds, 2]``; in every round all are compiled."""
    rounds = [{way: each.seconds(whole) - each.seconds(part) for way, each in ways.items()} for _ in range(ROUNDS)]
    return {way: np.array([seconds[way] for seconds in rounds]) for way in ways}


def _network(folder: Path) -> Team:
    """What training begins with; writes it as a policy, too."""
    with closing(LoopDistributionEnv(programs="loops/train", reward="none")) as env:
        torch.manual_seed(1)
        network = policy_network(env.observation_space, env.action_space, Es().network).eval()
        assert isinstance(network, Team)
        write_policy(dict(network), folder, spec=json.loads(env.task_spec.json), trained={}, results={})
    return network


def _in_torch(network: Team) -> Model:
    @torch.inference_mode()
    def answer(agent: str, tensors: Mapping[str, Any]) -> int:
        seen = dict(tensors)
        return int(advised(network[agent](batch([seen]))[0].numpy(), seen))

    return answer


def _in_onnx(policy: OnnxPolicy) -> Model:
    agents = list(policy.manifest["agents"])

    def answer(agent: str, tensors: Mapping[str, Any]) -> int:
        return policy.choose({AGENT: agents.index(agent)} | {name: dict(tensors) for name in agents})

    return answer


def _clang(program: Path, uri: str) -> list[str | Path]:
    policy = [f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-runner={uri}"] if uri else []
    return [toolchain.tool("clang"), *policy, "-w", "-O3", "-c", program, "-o", "/dev/null"]
