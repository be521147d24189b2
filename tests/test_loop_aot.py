# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph networks compiled ahead of time decide as ONNX Runtime does, whatever the number of nodes, in Python and in clang."""

import json
import subprocess
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mlcb_gym import _native, toolchain
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.graph import GraphNetwork
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import policy_network
from mlcb_gym.agents.team import Team
from mlcb_gym.corpus.loops.kernels import kernels, source
from mlcb_gym.envs.loop_distribution import LoopDistributionEnv
from mlcb_gym.envs.record import Observation
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import write_policy
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.rollout.onnx_policy import in_process
from mlcb_gym.rollout.play import observed, play_in_order
from mlcb_gym.rollout.random_policy import random
from mlcb_gym.session import WorkerSession
from mlcb_gym.spec import AGENT
from tests.support.loop_policies import in_true_size

MANY = 37
WIDE = f"""
extern float x[{MANY}][1000];
void wide(void) {{
  for (int i = 1; i < 1000; i++) {{
    {" ".join(f"x[{k}][i] = x[{k}][i - {k % 2}] + x[{(7 * k + 3) % MANY}][i] * {k}.0f;" for k in range(MANY))}
  }}
}}
"""


@pytest.fixture(scope="module")
def observations(worker: WorkerSession) -> list[Observation]:
    """Of a random episode on every kernel."""
    env = LoopDistributionEnv(programs="loops", session=worker, reward="none")
    rng = np.random.default_rng(1)
    episodes = play_in_order([env], (observed(program, random(rng)) for program in env.programs))
    return [observation for seen in episodes for observation in seen]


@pytest.fixture(scope="module")
def onnx(worker: WorkerSession, observations: list[Observation], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graph networks of the size that is trained; they never were. They split more often than not."""
    env = LoopDistributionEnv(programs="loops/train/mixed_division", session=worker, reward="none")
    torch.manual_seed(5)
    network = policy_network(env.observation_space, env.action_space, NetworkConfig(hidden=(), final_gain=3.0), Architecture.of(env)).eval()
    assert isinstance(network, Team)
    distributor = network["distributor"]
    assert isinstance(distributor, GraphNetwork)
    last = distributor.head[-1]
    assert isinstance(last, nn.Linear)
    seen = batch([observation["distributor"] for observation in observations if observation[AGENT] == 1])
    with torch.no_grad():
        merge, split = distributor(seen).unbind(dim=1)
        last.bias.add_(torch.tensor([0.0, (merge - split).mean() + (merge - split).std()]))
    folder = tmp_path_factory.mktemp("loops") / "policy"
    return write_policy(dict(network), folder, spec=json.loads(env.task_spec.json), trained={}, results={})


@pytest.fixture(scope="module")
def aot(onnx: Path) -> Path:
    return compile_policy(onnx, onnx.with_name("policy.so"))


def test_decisions_on_every_kernel_are_those_of_onnx_runtime(onnx: Path, aot: Path, observations: list[Observation]) -> None:
    assert len(observations) > 150
    assert {name for o in observations for name in o if name != AGENT} == {"selector", "distributor"}
    uris = (f"onnx:{onnx}", f"aot:{aot}")
    expected, padded = (in_process(uri, observations) for uri in uris)
    assert padded == expected
    assert {advice for o, advice in zip(observations, expected, strict=True) if o[AGENT] == 1} == {0, 1}
    for uri in uris:
        with closing(_native.Compiler.open(uri)) as compiler:
            assert [compiler.observe(*in_true_size(observation)) for observation in observations] == expected


@pytest.mark.parametrize("text", [source(kernels()), WIDE], ids=["kernels", "wide"])
def test_clang_splits_as_with_onnx_runtime_by_one_flag(text: str, onnx: Path, aot: Path, tmp_path: Path) -> None:
    (tmp_path / "loops.c").write_text(text)
    objects = {}
    for kind, policies in {"onnx": [onnx], "aot": [aot], "none": []}.items():
        write_clang_config(tmp_path / f"{kind}.cfg", policies)
        command: list[str | Path] = [
            toolchain.tool("clang"),
            f"--config={tmp_path / kind}.cfg",
            "-O3",
            "-c",
            tmp_path / "loops.c",
            "-o",
            tmp_path / "loops.o",
        ]
        subprocess.run(command, check=True, timeout=120)
        objects[kind] = (tmp_path / "loops.o").read_bytes()
    assert objects["aot"] == objects["onnx"] != objects["none"]
