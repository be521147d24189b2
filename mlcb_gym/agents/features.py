# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Raw observation to normalised features, inside the network, so that an exported policy takes what the compiler sends.

Modules differ in size by orders of magnitude. Every count is therefore seen twice: its logarithm says how large the module is,
its ratio to the number of instructions says what the module is like. What remains is standardised with fixed statistics,
measured once at the start of training and stored in the module's buffers.
"""

from collections.abc import Mapping

import torch
from gymnasium import spaces
from torch import Tensor, nn

CLIP = 8.0
"""Standardised features are cut here: a module far outside the training programs must not saturate the network."""

NEAR = ("cost_estimate", "callsite_cost", "callee_instructions", "caller_instructions")
"""What LLVM's inliner compares with a threshold of a few instructions: seen once more, unscaled, up to ``NEAR_LIMIT``."""
NEAR_LIMIT = 200.0

COUNTS = ("callee_calls", "callee_left", "callee_inlined", "callee_users", "caller_calls")
"""Calls, of which none, one or two are worlds apart: seen once more as which of 0 to ``MANY`` they are."""
MANY = 4

SPILL_WEIGHT = "weight"
"""What a spill would cost, over many orders of magnitude, most below 1: its logarithm is seen, and whether it is infinite, as LLVM has it."""
SPILL_WEIGHTS = (1e-6, 1e9)
"""Within these; what is above is infinite."""

MIN_DEVIATION = 1e-3
"""A feature that hardly varies in training carries no more weight than this allows."""

DEFAULT = "_default"
"""How the name of the tensor ends that says what the compiler's own heuristic would answer."""


def heuristic_of(observation_space: spaces.Dict) -> str | None:
    """The tensor that tells what the compiler's own heuristic would answer; None where it does not."""
    return next((name for name, space in observation_space.items() if name.endswith(DEFAULT) and space.shape == (1,)), None)


class Features(nn.Module):
    """What a network sees of an observation, ``[batch, width]`` float32.

    Known tensors: ``embedding``, ``opcodes``, ``properties``, ``instructions``, ``progress``, ``last_actions``, ``NEAR``, ``COUNTS``,
    ``SPILL_WEIGHT``. Any other is taken as ``asinh`` of its elements, so that a new task learns before it has features of its own.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, observation_space: spaces.Dict, *, actions: int) -> None:
        super().__init__()
        self.actions = actions
        self.inputs = tuple(name for name, space in observation_space.spaces.items() if not isinstance(space, spaces.MultiBinary))
        sample = {name: torch.zeros((1, *(observation_space[name].shape or ()))) for name in self.inputs}
        self.categorical_width = self._categorical(sample).shape[1]
        width = self._continuous(sample).shape[1]
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("deviation", torch.ones(width))
        self.width = width + self.categorical_width

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        standardised = (self._continuous(observation) - self.mean) / self.deviation
        return torch.cat([standardised.clamp(-CLIP, CLIP), self._categorical(observation)], dim=1)

    @torch.no_grad()
    def standardise(self, observation: Mapping[str, Tensor]) -> None:
        """Fixes the statistics to those of a batch of observations."""
        continuous = self._continuous(observation)
        self.mean.copy_(continuous.mean(dim=0))
        self.deviation.copy_(continuous.std(dim=0).clamp_min(MIN_DEVIATION))

    def _continuous(self, observation: Mapping[str, Tensor]) -> Tensor:
        instructions = observation.get("instructions")
        total = None if instructions is None else instructions[:, :1].float().clamp_min(1.0)
        parts = [self._scaled(name, observation[name].float(), total) for name in self.inputs if name != "last_actions"]
        return torch.cat(parts, dim=1)

    @staticmethod
    def _scaled(name: str, value: Tensor, total: Tensor | None) -> Tensor:
        value = value.flatten(1) if value.dim() > 1 else value.unsqueeze(1)
        if name == "progress":
            return value
        if name == "instructions":
            logs = value.clamp_min(1.0).log()
            return torch.cat([logs, logs[:, :1] - logs[:, 1:]], dim=1)
        if name == SPILL_WEIGHT:
            infinite = value > SPILL_WEIGHTS[1]
            return torch.cat([value.masked_fill(infinite, 1.0).clamp(*SPILL_WEIGHTS).log(), infinite.float()], dim=1)
        if name in NEAR:
            return torch.cat([torch.asinh(value), value.clamp(-NEAR_LIMIT, NEAR_LIMIT)], dim=1)
        if total is None or name not in ("embedding", "opcodes", "properties"):
            return torch.asinh(value)
        return torch.cat([torch.asinh(value), value / total], dim=1)

    def _categorical(self, observation: Mapping[str, Tensor]) -> Tensor:
        rows = next(iter(observation.values())).shape[0]
        parts = [torch.zeros((rows, 0))]
        if "last_actions" in self.inputs:
            parts.append(_one_hot(observation["last_actions"], self.actions))
        parts += [_one_hot(observation[name].clamp(max=MANY), MANY + 1) for name in COUNTS if name in self.inputs]
        return torch.cat(parts, dim=1)


def _one_hot(value: Tensor, choices: int) -> Tensor:
    """Zeros where the value is none of the choices."""
    return (value.long().unsqueeze(-1) == torch.arange(choices, device=value.device)).float().flatten(1)
