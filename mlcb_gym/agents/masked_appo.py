# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policy and value under an action mask, and the policy of some updates ago, for APPO."""

from copy import deepcopy
from typing import Any

from gymnasium import spaces
from ray.rllib.core.rl_module.apis import TARGET_NETWORK_ACTION_DIST_INPUTS, TargetNetworkAPI
from torch import nn

from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.errors import TaskError


class MaskedAppo(MaskedPolicyGradient, TargetNetworkAPI):
    """``MaskedPolicyGradient`` with the target network that APPO clips its updates by."""

    def setup(self) -> None:
        if isinstance(self.action_space, spaces.Box):
            raise TaskError("a value, which APPO does not learn: expected PPO or IMPALA, and MaskedPolicyGradient")
        super().setup()

    def make_target_networks(self) -> None:
        self.target = deepcopy(self.network).requires_grad_(False).eval()

    def get_target_network_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        return [(self.network, self.target)]

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {TARGET_NETWORK_ACTION_DIST_INPUTS: self.rated(self.target, batch)[0]}
