# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From decisions of which every outcome is known to a policy: the weights that policy gradients start from.

Nothing has to be explored: the expected log size under the policy is a differentiable loss.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional

from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.agents.network import MASK, NetworkConfig
from mlcb_gym.training.environment import Environment, Shaping
from mlcb_gym.training.lookahead import Decision, read_decisions
from mlcb_gym.training.minimise import Fitting, minimise
from mlcb_gym.training.policy import batch
from mlcb_gym.training.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class Distillation(Fitting):
    """How to fit to known outcomes.

    Args:
        unit: the log gain that counts as 1 in the loss.
        limit: a log loss beyond this is no worse.
        entropy: keeps the policy from deciding on noise.
    """

    weight_decay: float = 0.05
    unit: float = 0.02
    limit: float = 0.1
    entropy: float = 0.03


@dataclass(frozen=True)
class Outcomes:
    """Decisions as a batch: ``regrets`` ``[n, actions]`` are log sizes above the best one reachable, in units of ``Distillation.unit``."""

    observations: Mapping[str, Tensor]
    regrets: Tensor
    gains: Tensor
    weights: Tensor

    @classmethod
    def of(cls, programs: Iterable[Sequence[Decision]], distillation: Distillation) -> "Outcomes":
        """Every program weighs the same, however many decisions were looked into."""
        programs = list(programs)
        decisions = [d for program in programs for d in program]
        best = np.log([d.best for d in decisions])
        regrets = np.log(np.stack([d.outcomes for d in decisions])) - best[:, None]
        weights = np.array([1 / len(program) for program in programs for _ in program])
        return cls(
            batch([d.observation for d in decisions]),
            torch.from_numpy(regrets.clip(0.0, distillation.limit) / distillation.unit).float(),
            torch.from_numpy(-best).float(),
            torch.from_numpy(weights / weights.mean()).float(),
        )


def warm_start(environment: Environment, recipe: Recipe, decisions: Path, distillation: Distillation | None = None) -> dict[str, Tensor]:
    """The weights that training starts from, distilled from what a look-ahead wrote to the folder ``decisions``."""
    distillation = distillation or Distillation(seed=recipe.seed)
    outcomes = Outcomes.of(read_decisions(decisions).values(), distillation)
    with closing(environment.make(1)) as envs:
        observation_space, action_space = envs.single_observation_space, envs.single_action_space
        assert isinstance(observation_space, spaces.Dict)
        assert isinstance(action_space, spaces.Discrete)
        return distill(
            outcomes,
            observation_space=observation_space,
            action_space=action_space,
            network=recipe.network,
            shaping=recipe.shaping,
            distillation=distillation,
        )


def distill(
    outcomes: Outcomes,
    *,
    observation_space: spaces.Dict,
    action_space: "spaces.Discrete[np.int64]",
    network: NetworkConfig,
    shaping: Shaping,
    distillation: Distillation,
) -> dict[str, Tensor]:
    """The state of an RLModule for ``train(weights=...)``; its value predicts the best that was reached."""
    torch.manual_seed(distillation.seed)
    module = MaskedPolicyGradient(
        observation_space=observation_space,
        action_space=action_space,
        model_config={"network": asdict(network)},
        inference_only=False,
    )
    module.network.features.standardise(outcomes.observations)
    minimise(module, lambda rows: _loss(module, outcomes, rows, shaping, distillation), len(outcomes.gains), distillation)
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def _loss(module: MaskedPolicyGradient, outcomes: Outcomes, rows: Tensor, shaping: Shaping, distillation: Distillation) -> Tensor:
    observation = {name: value[rows] for name, value in outcomes.observations.items()}
    features = module.network.features(observation)
    logs = module.network.head(features).masked_fill(observation[MASK] == 0, -1e9).log_softmax(dim=1)
    expected = (logs.exp() * (outcomes.regrets[rows] + distillation.entropy * logs)).sum(dim=1)
    returns = shaping.scale * outcomes.gains[rows].clamp(-shaping.limit, shaping.limit)
    value_loss = functional.mse_loss(module.value(features).squeeze(1), returns)
    return (outcomes.weights[rows] * expected).mean() + 0.1 * value_loss
