# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Distillation of decisions with known outcomes into a policy, for the weights that policy gradients start from.

Nothing has to be explored: the expected regret under the policy is a differentiable loss.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from ray.rllib.core.columns import Columns
from torch import Tensor
from torch.nn import functional

from mlcb_gym.agents.architecture import model_config
from mlcb_gym.agents.evolved import Evolved
from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.agents.network import LogitsNetwork
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import TrainingError
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.search.decisions import Decision, read_decisions
from mlcb_gym.search.declaration import Declaration
from mlcb_gym.spec import AGENT, TaskSpec, acting_agent
from mlcb_gym.training.imitation.optimize import minimize
from mlcb_gym.training.imitation.team_distillation import distill_team
from mlcb_gym.training.recipe import Distillation, Recipe
from mlcb_gym.training.training_env import Environment


@dataclass(frozen=True)
class Outcomes:
    """A batch of decisions: ``regrets`` ``[n, actions]`` are log ratios above the best one reachable, in units of ``Distillation.unit``."""

    observations: Mapping[str, Tensor]
    regrets: Tensor
    gains: Tensor
    weights: Tensor

    @classmethod
    def of(cls, programs: Iterable[Sequence[Decision]], distillation: Distillation, heuristic: str | None = None) -> "Outcomes":
        """Return all decisions of the programs, each with its weight; ``heuristic`` is the tensor with the compiler's own answer."""
        decisions = [d for program in programs for d in program]
        best = np.log([d.best for d in decisions])
        regrets = np.log(np.stack([d.outcomes for d in decisions])) - best[:, None]
        regrets = regrets.clip(0.0, distillation.limit) + distillation.margin * np.stack([_is_other(d, heuristic) for d in decisions])
        weights = np.array([d.weight for d in decisions]) ** distillation.importance
        return cls(
            batch([d.observation for d in decisions]),
            torch.from_numpy(regrets / distillation.unit).float(),
            torch.from_numpy(-best).float(),
            torch.from_numpy(weights / weights.mean()).float(),
        )


def _is_other(decision: Decision, heuristic: str | None) -> np.ndarray:
    """Return whether an action is another than the heuristic's, ``[actions]``; no action where the heuristic's is not observed."""
    own = None if heuristic is None else decision.observation.get(heuristic)
    return np.zeros(len(decision.outcomes)) if own is None or own.size != 1 else np.arange(len(decision.outcomes)) != own.item()


def warm_start(environment: Environment, recipe: Recipe, *folders: Path) -> dict[str, Tensor]:
    """Return the weights that training starts from, distilled from the decisions in ``folders``.

    Raises:
        TrainingError: there are none in one of them, or those of another task or metric than the environment's.
    """
    config = model_config(environment.id, recipe.network)
    with closing(environment.make(1)) as envs:
        observation_space, action_space = envs.single_observation_space, envs.single_action_space
        assert isinstance(observation_space, spaces.Dict)
        assert isinstance(action_space, spaces.Discrete)
        declaration = Declaration.of(envs.unwrapped.envs[0])
        decisions = [_as_shown(program, observation_space) for folder in folders for program in read_decisions(folder, declaration).values()]
        if AGENT not in observation_space.spaces:
            outcomes = Outcomes.of(decisions, recipe.distillation, config["heuristic"])
            return distill(outcomes, observation_space=observation_space, action_space=action_space, recipe=recipe, config=config)
        if config["heuristic"] is None:
            return distill_team(decisions, observation_space=observation_space, action_space=action_space, recipe=recipe, config=config)
        spec = envs.unwrapped.envs[0].task_spec
    return distill_agents(decisions, spec, recipe=recipe, config=config)


def _as_shown(decisions: Sequence[Decision], space: spaces.Dict) -> list[Decision]:
    """Return decisions without the tensors that an environment leaves out, as embeddings."""
    return [replace(decision, observation=_shown(decision.observation, space)) for decision in decisions]


def _shown(observation: Observation, space: spaces.Dict) -> Observation:
    parts = {name: (value, space[name]) for name, value in observation.items() if name in space.spaces}
    return {name: _shown(value, part) if isinstance(part, spaces.Dict) else value for name, (value, part) in parts.items()}


def distill_agents(programs: Iterable[Sequence[Decision]], spec: TaskSpec, *, recipe: Recipe, config: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the state of an ``Evolved`` module of agents that each learn from their own decisions, the others being as they were when these were
    searched. One without decisions acts as its heuristic.

    Raises:
        TrainingError: no decisions.
    """
    decided = [(*acting_agent(d.observation), d) for program in programs for d in program]
    if not decided:
        raise TrainingError("no decisions to learn from, expected what `mlcb search` wrote")
    torch.manual_seed(recipe.seed)
    state = Evolved(observation_space=spec.observation_space, action_space=spec.action_space, model_config=dict(config)).state_dict()
    for index, agent in enumerate(spec.agents):
        choices = agent.action_space
        assert isinstance(choices, spaces.Discrete)
        own = [replace(d, observation=seen, outcomes=d.outcomes[: choices.n]) for who, seen, d in decided if who == index]
        if own:
            outcomes = Outcomes.of([own], recipe.distillation, agent.heuristic)
            learnt = distill(outcomes, observation_space=agent.observation_space, action_space=choices, recipe=recipe, config=config)
            state |= {name.replace("network.", f"network.{agent.name}.", 1): value for name, value in learnt.items() if name.startswith("network.")}
    return state


def distill(
    outcomes: Outcomes,
    *,
    observation_space: spaces.Dict,
    action_space: "spaces.Discrete[np.int64]",
    recipe: Recipe,
    config: Mapping[str, Any],
) -> dict[str, Tensor]:
    """Return the state of an RLModule for ``train(weights=...)``; its value predicts the best ratio that was reached."""
    return fit(
        lambda module, rows: _loss(module, outcomes, rows, recipe),
        outcomes.observations,
        observation_space=observation_space,
        action_space=action_space,
        recipe=recipe,
        config=config,
    )


def fit(
    loss: Callable[[MaskedPolicyGradient, Tensor], Tensor],
    observations: Mapping[str, Tensor],
    *,
    observation_space: spaces.Dict,
    action_space: "spaces.Discrete[np.int64]",
    recipe: Recipe,
    config: Mapping[str, Any],
) -> dict[str, Tensor]:
    """Return the state of a new RLModule that minimises ``loss``, a function of the module and the rows of ``observations`` in a batch."""
    torch.manual_seed(recipe.seed)
    module = MaskedPolicyGradient(
        observation_space=observation_space,
        action_space=action_space,
        model_config=dict(config),
        inference_only=False,
    )
    assert isinstance(module.network, LogitsNetwork)
    module.network.features.standardise(observations)
    minimize(module, partial(loss, module), len(next(iter(observations.values()))), recipe.distillation)
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def _loss(module: MaskedPolicyGradient, outcomes: Outcomes, rows: Tensor, recipe: Recipe) -> Tensor:
    observation = {name: value[rows] for name, value in outcomes.observations.items()}
    logits, features = module.rated(module.network, {Columns.OBS: observation})
    distillation = recipe.distillation
    expected = expected_regret(logits, outcomes.regrets[rows], distillation.entropy)
    if distillation.candidates > 1:
        expected = expected + distillation.candidates_weight * regret_of_candidates(logits, outcomes.regrets[rows], distillation.candidates)
    limit = recipe.shaping.limit
    returns = recipe.shaping.scale * outcomes.gains[rows].clamp(-limit, limit)
    value_loss = functional.mse_loss(module.value(features).squeeze(1), returns)
    return (outcomes.weights[rows] * expected).mean() + 0.1 * value_loss


def expected_regret(logits: Tensor, regrets: Tensor, entropy: float) -> Tensor:
    """Return the expected regret where actions are drawn, less the entropy times ``entropy``, ``[n]``; of logits and regrets ``[n, actions]``."""
    logs = logits.log_softmax(dim=1).clamp(min=IMPOSSIBLE)
    return (logs.exp() * (regrets + entropy * logs)).sum(dim=1)


IMPOSSIBLE = -200.0
"""The logarithm of a probability that is 0 as a float32. That of a masked action, times a weight, would exceed all numbers."""


def regret_of_candidates(logits: Tensor, regrets: Tensor, candidates: int) -> Tensor:
    """Return the expected least regret of so many candidates, ``[n]``: the action that logits ``[n, actions]`` prefer, and others drawn by these.

    It shapes the order of the others alone: an action that is good where the first one is bad completes it best. Of three actions with the regrets 2,
    1 and 0, the first one preferred and the others as likely, two candidates have the regret 1 or 0: 0.5.
    """
    first = logits.argmax(dim=1, keepdim=True)
    others = logits.scatter(1, first, torch.finfo(logits.dtype).min).softmax(dim=1)
    ordered, places = torch.minimum(regrets, regrets.gather(1, first)).sort(dim=1)
    at_least = others.gather(1, places).flip(1).cumsum(dim=1).flip(1).clamp(0.0, 1.0) ** (candidates - 1)
    return (ordered * (at_least - functional.pad(at_least[:, 1:], (0, 1)))).sum(dim=1)
