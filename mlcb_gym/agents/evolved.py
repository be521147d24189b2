# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy alone: what evolution strategies train."""

from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import policy_network


class Evolved(TorchRLModule):
    """Has no forward pass of RLlib's: nothing is sampled from it, and no loss has a gradient."""

    def setup(self) -> None:
        self.network = policy_network(self.observation_space, self.action_space, NetworkConfig(**self.model_config["network"]))
