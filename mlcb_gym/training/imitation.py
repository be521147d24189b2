# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Behavioural cloning of searched sequences: the weights that policy gradients start from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.agents.network import MASK, NetworkConfig
from mlcb_gym.training.environment import Shaping
from mlcb_gym.training.minimise import Fitting, minimise
from mlcb_gym.training.policy import batch
from mlcb_gym.training.rollouts import Observation, Script, SplitEnv, episode, name_of, play
from mlcb_gym.training.traces import Trace


@dataclass(frozen=True)
class Demonstrations:
    """Decisions to imitate: observations ``[n, ...]``, and for each the action taken, its weight, and the log gain of its episode."""

    observations: Mapping[str, Tensor]
    actions: Tensor
    weights: Tensor
    gains: Tensor


@dataclass(frozen=True, kw_only=True)
class Cloning(Fitting):
    """How to clone.

    Args:
        temperature: an episode that gains this much less than the best one of its program weighs 1/e of it.
        floor: added to the gain of a program's best episode, for its weight among the programs.
        smoothing: of the labels, over the allowed actions alone.
    """

    temperature: float = 0.005
    floor: float = 0.01
    smoothing: float = 0.05


def demonstrate(
    envs: Sequence[SplitEnv], programs: Sequence[Any], best: Mapping[str, Sequence[Trace]], cloning: Cloning, *, stop: int | None = None
) -> Demonstrations:
    """Plays the best episodes of each program again, to see what the policy will see.

    Args:
        programs: the training programs; those without a trace are left out.
        best: see ``traces.best_by_program``.
        stop: the action that ends an episode: taken where the episode was smallest.
    """
    by_name = {name_of(program): program for program in programs}
    jobs = [(by_name[name], trace, traces[0]) for name, traces in best.items() if name in by_name for trace in traces]
    played = list(play(envs, (_demonstration(program, trace, top, stop) for program, trace, top in jobs)))
    observations = [o for demo in played for o in demo.observations]
    weights = [demo.weight(cloning) for demo in played for _ in demo.actions]
    return Demonstrations(
        observations=batch(observations),
        actions=torch.tensor([a for demo in played for a in demo.actions]),
        weights=torch.tensor(weights) / float(np.mean(weights)),
        gains=torch.tensor([demo.trace.gain for demo in played for _ in demo.actions], dtype=torch.float32),
    )


def clone(
    env: gymnasium.vector.VectorEnv[Any, Any, Any],
    demonstrations: Demonstrations,
    *,
    network: NetworkConfig,
    shaping: Shaping,
    cloning: Cloning,
) -> dict[str, Tensor]:
    """The state of an RLModule for ``train(weights=...)`` that imitates; its value predicts what the imitated episodes reach."""
    torch.manual_seed(cloning.seed)
    module = MaskedPolicyGradient(
        observation_space=env.single_observation_space,
        action_space=env.single_action_space,
        model_config={"network": asdict(network)},
        inference_only=False,
    )
    module.network.features.standardise(demonstrations.observations)
    minimise(module, lambda rows: _loss(module, demonstrations, rows, shaping, cloning), len(demonstrations.actions), cloning)
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def _loss(module: MaskedPolicyGradient, demonstrations: Demonstrations, rows: Tensor, shaping: Shaping, cloning: Cloning) -> Tensor:
    observation = {name: value[rows] for name, value in demonstrations.observations.items()}
    allowed = observation[MASK] > 0
    features = module.network.features(observation)
    logs = module.network.head(features).masked_fill(~allowed, -torch.inf).log_softmax(dim=1)
    taken = logs.gather(1, demonstrations.actions[rows, None]).squeeze(1)
    uniform = torch.where(allowed, logs, 0.0).sum(dim=1) / allowed.sum(dim=1)
    likelihood = (1 - cloning.smoothing) * taken + cloning.smoothing * uniform
    returns = shaping.scale * demonstrations.gains[rows].clamp(-shaping.limit, shaping.limit)
    value_loss = functional.mse_loss(module.value(features).squeeze(1), returns)
    loss: Tensor = 0.5 * value_loss - (demonstrations.weights[rows] * likelihood).mean()
    return loss


@dataclass(frozen=True)
class _Demonstration:
    trace: Trace
    top: Trace
    observations: list[Observation]
    actions: list[int]

    def weight(self, cloning: Cloning) -> float:
        behind = (self.trace.gain - self.top.gain) / cloning.temperature
        return float(np.exp(behind) * (cloning.floor + max(self.top.gain, 0.0)))


def _demonstration(program: Any, trace: Trace, top: Trace, stop: int | None) -> Script[_Demonstration]:
    actions = trace.actions if stop is None else (*(a for a in trace.trimmed() if a != stop), stop)
    remaining = iter(actions)
    demo = _Demonstration(trace, top, [], [])

    def choose(observation: Observation) -> int | None:
        action = next((a for a in remaining if observation[MASK][a]), None)
        if action is not None:
            demo.observations.append({name: np.array(value) for name, value in observation.items()})
            demo.actions.append(action)
        return action

    yield from episode(program, choose)
    return demo
