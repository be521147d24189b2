# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The RLModule of evolution strategies: a policy alone."""

from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import policy_network


class Evolved(TorchRLModule):
    """A policy without RLlib's forward passes: nothing is sampled from it, and no loss has a gradient."""

    def setup(self) -> None:
        config = NetworkConfig.of(self.model_config)
        self.network = policy_network(self.observation_space, self.action_space, config, Architecture.from_config(self.model_config))
