# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evolution strategies (Salimans et al., 2017): the gradient is estimated from the final ratios of perturbed weights on the same programs.

For tasks with one outcome after hundreds of decisions, as register allocation. Actions are not sampled and no value is predicted, so that an agent
may give a value as well as a choice. RLlib's learner makes the step.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from mlcb_gym.agents.evolved import Evolved
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import TrainingError
from mlcb_gym.rollout.network_policy import InCompiler
from mlcb_gym.rollout.play import Decide, episode, persistent
from mlcb_gym.training.recipe import Distillation, Recipe
from mlcb_gym.training.training_env import Environment, TrainingEnv, training_env

TEAM_DISTILLATION = Distillation(epochs=30, batch=8, lr=3e-3, unit=0.1, limit=0.7, entropy=0.01, weight_decay=0.3)
"""Distillation for a team, from the decisions of `mlcb search`; a batch is a number of programs."""


class EsLearner(TorchLearner):
    """A learner that steps along given gradients."""

    def compute_loss_for_module(self, **kwargs: Any) -> Tensor:
        raise NotImplementedError("evolution strategies have no loss")


class EsAlgorithm(Algorithm):
    """An algorithm whose iteration is one estimate of the gradient, from ``pairs`` antithetic perturbations of the weights, and one step along it."""

    config: "EsConfig"

    def training_step(self) -> None:
        learner = self.learner_group._learner
        module = learner.module[DEFAULT_MODULE_ID].unwrapped()
        gradient = self._gradient(module.network, training_env(self))
        learner.apply_gradients({learner.get_param_ref(p): g for p, g in zip(module.network.parameters(), gradient, strict=True)})
        self.env_runner_group.sync_weights(from_worker_or_learner_group=self.learner_group)

    @cached_property
    def _player(self) -> Callable[[PolicyNetwork], Decide]:
        return self.config.recipe.player(self.env_runner.module.network, training_env(self).unwrapped.envs[0])

    def _gradient(self, network: PolicyNetwork, env: TrainingEnv) -> list[Tensor]:
        """Estimate the gradient of what the weights lose, smoothed by Gaussian perturbations with standard deviation ``sigma``.

        Perturbed weights are compared on each program by the logarithms of their ratios, within ``limit`` of the mean: no outlier and no program
        outweighs the others."""
        recipe = self.config.recipe
        seed = int(np.random.default_rng([recipe.seed, self.iteration]).integers(2**31))
        weights = parameters_to_vector(network.parameters()).detach()
        changes = torch.randn((recipe.pairs, len(weights)), generator=torch.Generator().manual_seed(seed))
        candidates = [_changed(network, weights + sign * recipe.sigma * change) for change in changes for sign in (1, -1)]
        ratios = _play([self._player(candidate) for candidate in candidates], env, recipe.programs, seed)
        losses = _losses(ratios, recipe.limit)
        forth, back = torch.from_numpy(losses).float().view(-1, 2).unbind(dim=1)
        estimate = ((forth - back) / (2 * recipe.sigma)) @ changes / recipe.pairs
        return _like(estimate, network)


class EsConfig(AlgorithmConfig):
    """RLlib's config of the algorithm, with the recipe for all else."""

    recipe: "Es"

    def __init__(self, algo_class: type[Algorithm] = EsAlgorithm) -> None:
        super().__init__(algo_class)

    def get_default_learner_class(self) -> type[EsLearner]:
        return EsLearner

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        return RLModuleSpec(module_class=Evolved)


@dataclass(frozen=True, kw_only=True)
class Es(Recipe):
    """Evolution strategies with antithetic sampling, and Adam for the step. Whole programs are played, in this process.

    ```sh
    mlcb train eviction --algo es --programs embedded/train -o runs/es
    ```

    Args:
        pairs: antithetic pairs of perturbations for one step.
        sigma: the standard deviation of a perturbation.
        programs: the number of programs, drawn anew for each step, that all perturbations are played on.
        limit: the log ratio to the mean of a program beyond which more counts alike.
    """

    algorithm: ClassVar[str] = "es"
    learns_values: ClassVar[bool] = True
    learns_teams: ClassVar[bool] = True
    draws: ClassVar[bool] = False
    space: ClassVar[Mapping[str, str]] = {"lr": "log(3e-3,1e-1)", "sigma": "log(0.03,1)", "network.hidden": "[[],[32]]"}

    lr: float = 0.05
    pairs: int = 8
    sigma: float = 0.3
    programs: int = 64
    limit: float = 0.02
    network: NetworkConfig = field(default_factory=lambda: NetworkConfig(hidden=(), final_gain=0.0))
    distillation: Distillation = field(default_factory=lambda: TEAM_DISTILLATION)

    def player(self, network: PolicyNetwork, env: CompilerEnv) -> Callable[[PolicyNetwork], Decide]:
        """Return the function from a network to its policy, in the compiler where that takes models: only the end of an episode counts."""
        return InCompiler(network, env) if env.takes_models else super().player(network, env)

    def config(self, environment: Environment) -> EsConfig:
        if environment != environment.of_programs:
            raise TrainingError(f"{environment.id}: es plays whole programs, expected no argument episode, or algorithm mlgo")
        if self.num_env_runners:
            raise TrainingError(f"num_env_runners={self.num_env_runners}: es plays in this process, expected 0")
        config = self._common(EsConfig(), environment, Evolved).training(lr=self.lr)
        assert isinstance(config, EsConfig)
        config.recipe = self
        return config


def _play(players: Sequence[Decide], env: TrainingEnv, count: int, seed: int) -> np.ndarray:
    """Return the ratios of episodes, ``[programs, players]``, on ``count`` programs drawn by a seed. Episodes of one program follow one another,
    so that its compiler starts where the decisions begin."""
    (first, *_) = env.unwrapped.envs
    drawn = np.random.default_rng(seed).permutation(len(first.programs))[:count]
    scripts = (persistent(partial(episode, first.programs[i], choose)) for i in drawn for choose in players)
    return np.reshape([trace.scored for trace in env.play(scripts)], (-1, len(players)))


def _losses(ratios: np.ndarray, limit: float) -> np.ndarray:
    """Return what each perturbation loses, ``[players]``, with a standard deviation of 1, of ratios ``[programs, players]``."""
    logs = np.log(ratios)
    losses: np.ndarray = (logs - logs.mean(axis=1, keepdims=True)).clip(-limit, limit).mean(axis=0)
    return losses / (losses.std() or 1.0)


def _changed(network: PolicyNetwork, weights: Tensor) -> PolicyNetwork:
    """Return a copy with other weights."""
    copy = deepcopy(network).eval()
    vector_to_parameters(weights, copy.parameters())
    return copy


def _like(vector: Tensor, network: PolicyNetwork) -> list[Tensor]:
    """Return a vector cut into tensors of the shapes of a network's parameters."""
    sizes = [p.numel() for p in network.parameters()]
    return [part.view_as(p) for part, p in zip(vector.split(sizes), network.parameters(), strict=True)]
