# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy for phase ordering inside opt: one that is not trained, its environment, and how it is run."""

import json
import subprocess
from pathlib import Path

import torch
from gymnasium import spaces

from mlcb_gym import toolchain
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import LogitsNetwork
from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.export.export import write_policy
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.rollout.random_policy import random_observations
from mlcb_gym.session import Session

ACTIONS = [
    "function(sroa,early-cse<memssa>)",
    "function(instcombine,simplifycfg)",
    "cgscc(inline)",
    "{inline-threshold=50} default<Oz>",
    "function(gvn)",
    "iroutliner",
]
PROGRAMS = ["embedded/test/nbody", "embedded/test/tarjan_scc", "embedded/test/scheduler"]
CLANG, OPT = toolchain.tool("clang"), toolchain.tool("opt")


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, check=False)


def opt(program: Program, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run(OPT, "-load-pass-plugin", toolchain.plugin(), "-passes=posetrl", *options, program.bitcode, "-o", output)


def assert_refused(done: subprocess.CompletedProcess[str], expected: str, output: Path) -> None:
    """The tool says in one line what is wrong with the policy, and leaves no output."""
    message, *rest = done.stderr.splitlines()
    assert done.returncode == 1
    assert message.startswith("error: mlcb: ")
    assert expected in message
    assert rest in ([], ["1 error generated."])
    assert not output.exists()


def make_env(session: Session | str, **arguments: object) -> PosetRLEnv:
    return PosetRLEnv(session=session, **{"programs": PROGRAMS, "actions": ACTIONS, "max_steps": 5} | arguments)  # type: ignore[arg-type]


def make_policy(env: PosetRLEnv, folder: Path, seed: int) -> Path:
    """An untrained policy that does not always choose the same action."""
    torch.manual_seed(seed)
    assert isinstance(env.observation_space, spaces.Dict)
    assert isinstance(env.action_space, spaces.Discrete)
    network = LogitsNetwork(env.observation_space, env.action_space, NetworkConfig(hidden=(32,), final_gain=3.0), Architecture.of(env))
    network.features.standardise(batch(random_observations([env], env.programs, 3, 1)))
    return write_policy(network.eval(), folder, spec=json.loads(env.task_spec.json), trained={}, results={})
