# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Distillation of decisions with known outcomes into a team, for the weights that the training of agents that take turns starts from.

The expected final log ratio, over all sequences of a program as the team would draw them, is a differentiable loss. Sequences of equal ratio count
alike, others by their ratio, and the agents learn together.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from mlcb_gym.agents.evolved import Evolved
from mlcb_gym.agents.graph import GraphNetwork
from mlcb_gym.agents.team import Team
from mlcb_gym.errors import TrainingError
from mlcb_gym.search.decisions import Decision
from mlcb_gym.training.imitation.decision_trees import Trees, has_outcome
from mlcb_gym.training.imitation.optimize import minimize
from mlcb_gym.training.recipe import Distillation, Recipe


def distill_team(
    programs: Sequence[Sequence[Decision]],
    *,
    observation_space: spaces.Dict,
    action_space: "spaces.Discrete[np.int64]",
    recipe: Recipe,
    config: Mapping[str, Any],
) -> dict[str, Tensor]:
    """Return the state of an ``Evolved`` module for ``train(weights=...)``.

    Raises:
        TrainingError: no decisions.
    """
    torch.manual_seed(recipe.seed)
    module = Evolved(observation_space=observation_space, action_space=action_space, model_config=dict(config))
    team = module.network
    assert isinstance(team, Team)
    programs = [decisions for decisions in programs if decisions and has_outcome(decisions[0])]
    if not programs:
        raise TrainingError("no decisions to learn from, expected what `mlcb search` wrote")
    trees = [Trees.of(decisions, tuple(team)) for decisions in programs]
    _standardise(team, Trees.joined(trees))
    minimize(team, lambda rows: _loss(team, Trees.joined([trees[row] for row in rows]), recipe.distillation), len(trees), recipe.distillation)
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def _standardise(team: Team, trees: Trees) -> None:
    """Set the statistics of each agent's features: all agents observe the same features of a loop."""
    for name, network in team.items():
        assert isinstance(network, GraphNetwork)
        if trees.observations[name]:
            network.standardise(trees.observations[name])


def _loss(team: Team, trees: Trees, distillation: Distillation) -> Tensor:
    """Return the expected cost of the sequences, plus the cross-entropy of each decision with good actions, less the entropy bonus.

    The expected cost alone has no gradient once the team is sure of its actions: it would soon split nothing, and stay there. So every decision also
    imitates the distribution ``softmax(-regret / unit)``, weighted by its stake, the regret of its worst known action.

    Example, with a unit of 0.1: a decision has actions with the log ratios 0 and 0.2 at the end. Its regrets are 0 and 0.2, its costs 0 and 2 units,
    its stake 0.2, and the imitated distribution softmax(0, -2), about 0.88 and 0.12. A team that takes either action with a chance of 1/2 has an
    expected cost of 1 and a cross-entropy of log 2, about 0.69.
    """
    logits = trees.logits(team)
    logs = logits.log_softmax(dim=1)
    costs = (trees.logs - trees.best()[trees.programs]).clamp(0.0, distillation.limit) / distillation.unit
    good = (-trees.regrets / distillation.unit).softmax(dim=1)
    stakes = trees.regrets.masked_fill(trees.regrets == torch.inf, 0.0).amax(dim=1).clamp(0.0, distillation.limit)
    imitation = -(stakes * (good * logs).sum(dim=1)).sum() / stakes.sum().clamp_min(distillation.unit)
    entropy = -(logs.exp() * logs).sum(dim=1).mean()
    return trees.expected(logits, costs).mean() + imitation - distillation.entropy * entropy
