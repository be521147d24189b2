# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy that decides once: from the first observation to one of a few fixed sequences, each an action of its own.

All outcomes are known beforehand (a ``coreset.Matrix``), so nothing has to be explored: the expected log size under the policy is a
differentiable loss.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from mlcb_gym.agents.network import LogitsNetwork, NetworkConfig
from mlcb_gym.training.minimise import Fitting, minimise
from mlcb_gym.training.policy import batch
from mlcb_gym.training.rollouts import Observation, Script, SplitEnv, episode, play


@dataclass(frozen=True, kw_only=True)
class Selection(Fitting):
    """How to fit. ``unit``: the log gain that counts as 1 in the loss; ``entropy`` keeps the policy from deciding on noise."""

    epochs: int = 300
    batch: int = 64
    weight_decay: float = 0.1
    clip: float = math.inf
    unit: float = 0.02
    entropy: float = 0.05
    limit: float = 0.1


def first_observations(envs: Sequence[SplitEnv], programs: Sequence[Any]) -> dict[str, Observation]:
    """What each program looks like before the first decision, by its name."""
    return dict(play(envs, (_first(program) for program in programs)))


def fit(
    observations: Mapping[str, Tensor],
    ratios: np.ndarray,
    *,
    observation_space: spaces.Dict,
    network: NetworkConfig,
    selection: Selection,
) -> LogitsNetwork:
    """A network whose logit ``s`` says how good sequence ``s`` is.

    Args:
        observations: of the training programs, ``[programs, ...]``.
        ratios: ``[programs, sequences]``, see ``coreset.Matrix``.
    """
    torch.manual_seed(selection.seed)
    model = LogitsNetwork(observation_space, spaces.Discrete(ratios.shape[1]), network)
    model.features.standardise(observations)
    logs = torch.from_numpy(np.log(ratios)).float()
    costs = (logs - logs.mean(dim=1, keepdim=True)).clamp(-selection.limit, selection.limit) / selection.unit

    def loss(rows: Tensor) -> Tensor:
        policy = model({name: value[rows] for name, value in observations.items()}).log_softmax(dim=1)
        expected: Tensor = (policy.exp() * (costs[rows] + selection.entropy * policy)).sum(dim=1).mean()
        return expected

    minimise(model, loss, len(costs), selection)
    return model.eval()


@torch.inference_mode()
def chosen_geomean(model: LogitsNetwork, observations: Mapping[str, Tensor], ratios: np.ndarray) -> float:
    """Geomean of size to -Oz if each program gets the sequence that the model chooses."""
    choices = model(observations).argmax(dim=1).numpy()
    return float(np.exp(np.log(ratios[np.arange(len(ratios)), choices]).mean()))


def stacked(observations: Mapping[str, Observation], programs: Sequence[str]) -> dict[str, Tensor]:
    """The observations of these programs, in their order, as a batch."""
    return batch([observations[program] for program in programs])


def _first(program: Any) -> Script[tuple[str, Observation]]:
    seen: list[Observation] = []

    def choose(observation: Observation) -> None:
        seen.append({name: np.array(value) for name, value in observation.items()})

    trace = yield from episode(program, choose)
    return trace.program, seen[0]
