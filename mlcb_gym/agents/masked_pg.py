# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policy and value for the policy gradient algorithms (PPO, IMPALA): choices under a mask, values, and agents that take turns."""

from typing import Any

import torch
from gymnasium import spaces
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.utils.torch_utils import FLOAT_MIN
from torch import Tensor, nn
from torch.nn import functional

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.agents.network import LogitsNetwork, PolicyNetwork, policy_network
from mlcb_gym.agents.team import Team
from mlcb_gym.agents.values import ValueNetwork
from mlcb_gym.errors import TaskError
from mlcb_gym.spec import AGENT, MASK

DEVIATION = 0.5
"""The first standard deviation of an agent that gives a value, before its network turns what is drawn into the value."""


class MaskedPolicyGradient(TorchRLModule, ValueFunctionAPI):
    """Separate trunks for policy and value over the same features: the value's larger loss does not bend the policy's trunk.

    Illegal actions get a logit of ``FLOAT_MIN``, not minus infinity: the observation after an episode's end may allow nothing.

    An agent that gives a value draws from a normal distribution around what its network rates, and the network turns what was drawn into the
    environment's action: an algorithm's config needs ``environment(normalize_actions=False)``. Agents that take turns have a network each, and
    the rows of a batch go to those that they are for.
    """

    def setup(self) -> None:
        if isinstance(self.action_space, spaces.Box) and "kind" not in self.model_config:
            raise TaskError("an agent that gives a value: model_config has no kind, expected mlcb_gym.agents.model_config(ID), which knows its unit")
        config = NetworkConfig.of(self.model_config)
        self.network: PolicyNetwork = policy_network(self.observation_space, self.action_space, config, Architecture.from_config(self.model_config))
        self.value: Any = _for_each(self.network, lambda network: Mlp(network.summary_width, 1, config))
        if isinstance(self.action_space, spaces.Box):
            self.log_deviation = nn.Parameter(torch.full((1,), DEVIATION).log())

    def rated(self, network: PolicyNetwork, batch: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Return the inputs of the distribution of actions that a network gives a batch, and the summaries of its observations for the value.

        The inputs are logits ``[batch, actions]``, or mean and logarithm of the deviation ``[batch, 2]``; summaries are padded to the widest.
        """
        observation = batch[Columns.OBS]
        if not isinstance(network, Team):
            return self._rated(network, observation)
        acting = observation[AGENT].reshape(-1)
        rows = [torch.nonzero(acting == agent).squeeze(1) for agent in range(len(network))]
        parts = [
            self._rated(own, {tensor: column[mine] for tensor, column in observation[name].items()})
            for mine, (name, own) in zip(rows, network.items(), strict=True)
        ]
        inputs, summaries = (_padded(each) for each in zip(*parts, strict=True))
        back = torch.argsort(torch.cat(rows))
        return inputs[back], summaries[back]

    def _rated(self, network: Any, observation: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        rating, summary = network.rate(observation)
        if isinstance(self.action_space, spaces.Box):
            return torch.cat([rating, self.log_deviation.expand_as(rating)], dim=1), summary
        rating = torch.where(observation[MASK] > 0, rating, FLOAT_MIN)
        return functional.pad(rating, (0, int(self.action_space.n) - rating.shape[1]), value=FLOAT_MIN), summary

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        inputs, summaries = self.rated(self.network, batch)
        return {Columns.ACTION_DIST_INPUTS: inputs, Columns.EMBEDDINGS: summaries}

    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._acting(batch, explores=False)

    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._acting(batch, explores=True)

    @torch.no_grad()
    def _acting(self, batch: dict[str, Any], *, explores: bool) -> dict[str, Any]:
        """Return what RLlib draws actions from; for a value, what was drawn and the action that it stands for."""
        outputs = self._forward(batch)
        if not isinstance(self.action_space, spaces.Box):
            return outputs
        assert isinstance(self.network, LogitsNetwork | ValueNetwork)
        distribution = self.get_exploration_action_dist_cls().from_logits(outputs[Columns.ACTION_DIST_INPUTS])
        drawn = distribution.sample() if explores else distribution.to_deterministic().sample()
        action = self.network.action(batch[Columns.OBS], drawn, self.action_space)
        return outputs | {Columns.ACTIONS: drawn, Columns.ACTION_LOGP: distribution.logp(drawn), Columns.ACTIONS_FOR_ENV: action}

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        summaries = self._summaries(batch) if embeddings is None else embeddings
        if not isinstance(self.network, Team):
            values: Tensor = self.value(summaries)
            return values.squeeze(-1)
        acting = batch[Columns.OBS][AGENT].reshape(-1, 1)
        of_all = [own(summaries[:, : self.network[name].summary_width]) for name, own in self.value.items()]
        return torch.cat(of_all, dim=1).gather(1, acting.long()).squeeze(1)

    @torch.no_grad()
    def _summaries(self, batch: dict[str, Any]) -> Tensor:
        """Summaries outside a loss: no statistics are learnt from them."""
        return self.rated(self.network, batch)[1]


def _for_each(network: PolicyNetwork, make: Any) -> Any:
    """Return what is made for a network, or for each of a team."""
    return nn.ModuleDict({name: make(own) for name, own in network.items()}) if isinstance(network, Team) else make(network)


def _padded(parts: tuple[Tensor, ...]) -> Tensor:
    """Return the rows of all parts, as wide as the widest."""
    widest = max(part.shape[1] for part in parts)
    return torch.cat([functional.pad(part, (0, widest - part.shape[1])) for part in parts])
