# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Behavioural cloning of the compiler's own heuristic, whose action is in every observation, for the weights that training starts from."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import torch
from gymnasium import spaces
from ray.rllib.core.columns import Columns
from torch import Tensor
from torch.nn import functional

from mlcb_gym.agents.architecture import model_config
from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import TaskError
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.rollout.play import observed, play_in_order
from mlcb_gym.spec import MASK
from mlcb_gym.training.imitation.distill import fit
from mlcb_gym.training.recipe import Distillation, Recipe
from mlcb_gym.training.training_env import Environment

CLONING = Distillation(epochs=40, weight_decay=0.0)


def clone_heuristic(environment: Environment, recipe: Recipe, *, episodes: int = 256, config: Distillation = CLONING) -> dict[str, Tensor]:
    """Return the state of an RLModule that acts as the heuristic does, learnt from one episode each of ``episodes`` programs; its value is that of
    the heuristic, 0.

    Raises:
        TaskError: observations do not hold the action of the heuristic, or it is a value.
    """
    with closing(environment.of_programs.make(recipe.num_envs, reward="none")) as vector:
        envs = vector.unwrapped.envs
        heuristic = envs[0].default_action
        if len(envs[0].task_spec.agents) > 1:
            raise TaskError(f"{environment.id}: asks several agents, which are not cloned: their networks begin as the compiler's own heuristic")
        if not envs[0].num_actions:
            raise TaskError(f"{environment.id}: asks for a value, which is not cloned: its network begins as the compiler's own heuristic")
        order = np.random.default_rng(recipe.seed).permutation(len(envs[0].programs))[:episodes]
        seen = play_in_order(envs, (observed(envs[0].programs[i], heuristic) for i in order))
        observation_space, action_space = envs[0].observation_space, envs[0].action_space
    observations: list[Observation] = [observation for episode in seen for observation in episode]
    answers = torch.tensor([heuristic(observation) for observation in observations])
    tensors = batch(observations)
    if not tensors[MASK][torch.arange(len(answers)), answers].all():
        raise TaskError(f"{environment.id}: what the compiler's own heuristic would do is forbidden, so it cannot be cloned")
    assert isinstance(observation_space, spaces.Dict)
    return fit(
        lambda module, rows: _loss(module, {name: value[rows] for name, value in tensors.items()}, answers[rows]),
        tensors,
        observation_space=observation_space,
        action_space=action_space,
        recipe=replace(recipe, distillation=config),
        config=model_config(environment.id, recipe.network),
    )


def _loss(module: MaskedPolicyGradient, observation: dict[str, Tensor], answers: Tensor) -> Tensor:
    logits, features = module.rated(module.network, {Columns.OBS: observation})
    return functional.cross_entropy(logits, answers) + module.value(features).square().mean()
