# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network as something that chooses actions, and the observations that its features are standardised with."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mlcb_gym.agents.network import MASK, LogitsNetwork
from mlcb_gym.training.rollouts import Choose, Observation, SplitEnv, episode, observed, play_in_order
from mlcb_gym.training.traces import Trace


def batch(observations: Sequence[Observation]) -> dict[str, Tensor]:
    """Observations as tensors with a leading batch axis."""
    return {name: torch.from_numpy(np.stack([o[name] for o in observations])) for name in observations[0]}


def greedy(network: LogitsNetwork) -> Choose:
    """The best allowed action."""

    @torch.inference_mode()
    def choose(observation: Observation) -> int:
        logits = network(batch([observation]))[0]
        allowed = torch.from_numpy(observation[MASK]) > 0
        return int(logits.masked_fill(~allowed, -torch.inf).argmax())

    return choose


def random(rng: np.random.Generator) -> Choose:
    """Any allowed action, all equally likely."""

    def choose(observation: Observation) -> int:
        return int(rng.choice(np.flatnonzero(observation[MASK])))

    return choose


def evaluate(network: LogitsNetwork, envs: Sequence[SplitEnv], programs: Sequence[Any]) -> list[Trace]:
    """One greedy episode per program."""
    was_training = network.training
    network.eval()
    traces = play_in_order(envs, (episode(program, greedy(network)) for program in programs))
    network.train(was_training)
    return traces


def random_observations(envs: Sequence[SplitEnv], programs: Sequence[Any], episodes: int, seed: int) -> dict[str, Tensor]:
    """Every observation of random episodes, over programs that are each taken about equally often."""
    rng = np.random.default_rng(seed)
    scripts = (observed(program, random(own)) for program, own in zip(_drawn(programs, episodes, rng), rng.spawn(episodes), strict=True))
    return batch([observation for seen in play_in_order(envs, scripts) for observation in seen])


def _drawn(programs: Sequence[Any], count: int, rng: np.random.Generator) -> Iterator[Any]:
    while count > 0:
        for index in rng.permutation(len(programs))[:count]:
            yield programs[index]
        count -= len(programs)
