# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The weights that a training begins with: features are standardised by random episodes, or a given state is loaded."""

from collections.abc import Mapping

import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.core import DEFAULT_MODULE_ID

from mlcb_gym.agents.columns import ColumnFeatures
from mlcb_gym.agents.features import Features
from mlcb_gym.agents.graph import GraphNetwork
from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.errors import TrainingError
from mlcb_gym.rollout.network_policy import batch, by_agent
from mlcb_gym.rollout.random_policy import random_observations
from mlcb_gym.spec import acting_agent
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.training_env import training_env


def network_of(algorithm: Algorithm) -> PolicyNetwork:
    """Return the network of the algorithm's environment runner."""
    network: PolicyNetwork = algorithm.env_runner.module.network
    return network


def statistics(algorithm: Algorithm, recipe: Recipe) -> dict[str, torch.Tensor]:
    """Return the buffers of the RLModule that standardise its inputs, from random episodes; none where nothing is standardised."""
    own = [_standardising(network) for network in by_agent(network_of(algorithm))]
    if not any(own):
        return {}
    envs = training_env(algorithm).unwrapped.envs
    seen = [acting_agent(o) for o in random_observations(envs, envs[0].programs, recipe.statistics_episodes, recipe.seed)]
    for agent in {agent for agent, _ in seen}:
        if each := own[agent]:
            each.standardise(batch([tensors for who, tensors in seen if who == agent]))
    return dict(algorithm.env_runner.module.named_buffers())


def _standardising(network: torch.nn.Module) -> Features | ColumnFeatures | GraphNetwork | None:
    features = getattr(network, "features", network)
    return features if isinstance(features, Features | ColumnFeatures | GraphNetwork) else None


def fitting(algorithm: Algorithm, recipe: Recipe, weights: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
    """Return the weights, if they are all weights of the RLModule."""
    own = algorithm.env_runner.module.state_dict()
    unfit = [name for name, value in own.items() if name not in weights or weights[name].shape != value.shape]
    if unfit:
        given = next(iter(weights), "nothing")
        raise TrainingError(
            f"weights do not fit {recipe.algorithm}: {len(unfit)} of its {len(own)} tensors, {unfit[0]} first, are missing or of another shape; "
            f"expected the state of a module as {recipe.algorithm} has it, got {given} and so on"
        )
    return weights


def set_weights(algorithm: Algorithm, weights: Mapping[str, torch.Tensor]) -> None:
    """Load a state of the RLModule into the learner, its target networks included, and the runner."""
    module = algorithm.learner_group._learner.module[DEFAULT_MODULE_ID].unwrapped()
    targets = {f"_target_{name}": value for name, value in weights.items()}
    own = module.state_dict()
    module.load_state_dict(own | {n: v for n, v in {**weights, **targets}.items() if n in own})
    algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=algorithm.learner_group)
