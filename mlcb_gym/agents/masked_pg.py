# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policy and value under an action mask, for the policy gradient algorithms (PPO, IMPALA)."""

from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.utils.torch_utils import FLOAT_MIN
from torch import Tensor

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.agents.network import LogitsNetwork
from mlcb_gym.spec import MASK


class MaskedPolicyGradient(TorchRLModule, ValueFunctionAPI):
    """Separate trunks for policy and value over the same features: the value's larger loss does not bend the policy's trunk.

    Illegal actions get a logit of ``FLOAT_MIN``, not minus infinity: the observation after an episode's end may allow nothing.
    """

    def setup(self) -> None:
        config = NetworkConfig.of(self.model_config)
        self.network = LogitsNetwork(self.observation_space, self.action_space, config, Architecture.from_config(self.model_config))
        self.value = Mlp(self.network.features.width, 1, config)

    def masked_logits(self, network: LogitsNetwork, batch: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Return the logits that a network gives a batch, ``[batch, actions]``, and the features that they are of."""
        observation = batch[Columns.OBS]
        features = network.features(observation)
        return torch.where(observation[MASK] > 0, network.head(features), FLOAT_MIN), features

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        logits, features = self.masked_logits(self.network, batch)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: features}

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        features = self.network.features(batch[Columns.OBS]) if embeddings is None else embeddings
        values: Tensor = self.value(features)
        return values.squeeze(-1)
