# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks as policies: here, observation by observation, and in the compiler."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.agents.team import Team
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.halves import HalvedEnv
from mlcb_gym.envs.record import Observation
from mlcb_gym.onnx.template import OnnxTemplate
from mlcb_gym.rollout.advice import advice_of
from mlcb_gym.rollout.play import Choose, Decide, Delegate
from mlcb_gym.spec import acting_agent


def batch(observations: Sequence[Observation]) -> dict[str, Any]:
    """Return observations as tensors with a leading batch axis; of several agents each part."""
    columns = {name: [o[name] for o in observations] for name in observations[0]}
    return {name: batch(values) if isinstance(values[0], dict) else torch.from_numpy(np.stack(values)) for name, values in columns.items()}


@torch.inference_mode()
def answer(network: PolicyNetwork, observation: Observation) -> np.ndarray:
    """Return the output of a network on one observation: logits, ``[actions]``, or a value, ``[1]``."""
    agent, seen = acting_agent(observation)
    result: np.ndarray = by_agent(network)[agent](batch([seen]))[0].numpy()
    return result


def advice(network: PolicyNetwork, observation: Observation) -> int | float:
    """Return the advice of a network: the best allowed choice, or its value."""
    return advice_of(answer(network, observation), observation)


def greedy(network: PolicyNetwork, env: HalvedEnv) -> Choose:
    """Return the policy that takes a network's best actions."""
    return lambda observation: env.action(advice(network, observation))


class InCompiler:
    """Networks of one architecture that decide in the compiler, so that no decision is sent.

    Args:
        network: any of them.
        env: where they decide, or another environment of its task.
    """

    def __init__(self, network: nn.Module, env: CompilerEnv) -> None:
        self._templates = [OnnxTemplate(*one) for one in zip(by_agent(network), env.task_spec.declared["agents"], strict=True)]

    def __call__(self, network: nn.Module) -> Decide:
        """Return the policy that delegates an episode to a network at its first decision."""
        models = [template.filled(own) for template, own in zip(self._templates, by_agent(network), strict=True)]
        return lambda _: Delegate(models)


def by_agent(network: nn.Module) -> list[nn.Module]:
    """Return the networks of a team, or the one network."""
    return list(network.values()) if isinstance(network, Team) else [network]
