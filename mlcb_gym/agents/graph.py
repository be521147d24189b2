# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph network over the dependences of a loop: what a node is, and in rounds what its neighbours are, tells how it is rated.

Dense, for graphs have at most some dozens of nodes. The number of nodes is an axis of the exported graph. Where observations are padded, what
stands behind the nodes stays all zeros, so that both decide alike.
"""

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn
from torch.nn import functional

from mlcb_gym.agents.mlp import Mlp, NetworkConfig

GRAPH = "dependences"
"""The tensor that makes an observation one of a graph."""

WIDTH = 16
ROUNDS = 2
"""How far a node sees."""


class GraphNetwork(nn.Module):
    """Observation of a loop to one number per choice, ``[batch, choices]``: of the selector a rating of each node, of the distributor one of each
    answer, by the node that it is asked about, the one before it, and the mean of all.

    A head of zeros takes nodes as they come and splits nothing, for the first of equal choices is taken.

    Args:
        config: of ``hidden`` the first is the width of a node, by default ``WIDTH``.
    """

    def __init__(self, observation_space: spaces.Dict, action_space: "spaces.Discrete[Any]", config: NetworkConfig) -> None:
        super().__init__()
        shape = {name: space.shape or () for name, space in observation_space.items()}
        kinds, self.nodes, _ = shape[GRAPH]
        width, *hidden = config.hidden or (WIDTH,)
        self.choices = int(action_space.n)
        self.selects = self.choices == self.nodes
        per_node = shape["embedding"][1] + shape["opcodes"][1] + shape["memory"][1] + 5
        self.embed = nn.Linear(per_node + shape["loop"][0] + 1, width)
        self.rounds = nn.ModuleList(_Round(width, kinds) for _ in range(ROUNDS))
        head = NetworkConfig(hidden=tuple(hidden), dropout=config.dropout, final_gain=config.final_gain)
        self.head = Mlp(width, 1, head) if self.selects else Mlp(3 * width, self.choices, head)

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        there = (observation["statements"] > 0).float().unsqueeze(2)
        edges = torch.asinh(observation[GRAPH])
        state = functional.silu(self.embed(self._features(observation))) * there
        for each in self.rounds:
            state = each(state, edges) * there
        if self.selects:
            logits: Tensor = self.head(state).squeeze(2)
            return functional.pad(logits, (0, self.choices - logits.shape[1]))
        mean = state.sum(dim=1) / there.sum(dim=1).clamp_min(1)
        pointed = [(self._at(observation, name).unsqueeze(1) @ state).squeeze(1) for name in ("chosen", "previous")]
        whole: Tensor = self.head(torch.cat([mean, *pointed], dim=1))
        return whole

    def _features(self, observation: Mapping[str, Tensor]) -> Tensor:
        """What is known of each node, and of the loop, ``[batch, nodes, features]``."""
        part, statements = observation["part"].float(), observation["statements"].float()
        previous = self._at(observation, "previous")
        last = (previous * part).sum(dim=1, keepdim=True)
        placed = (part >= 0).float() * (statements > 0).float()
        # Nodes that are alike in all else differ in their place: runtimes round differently, and would break a tie so.
        place = torch.arange(part.shape[1]).float().expand_as(part) / self.nodes
        flags = torch.stack([torch.asinh(statements), placed, placed * (part == last).float(), previous, place], dim=2)
        rows = [torch.asinh(observation[name].float()) for name in ("embedding", "opcodes", "memory")]
        of_loop = torch.cat([torch.asinh(observation["loop"]), observation["progress"].reshape(-1, 1)], dim=1)
        return torch.cat([*rows, flags, of_loop.unsqueeze(1).expand(-1, part.shape[1], -1)], dim=2)

    @staticmethod
    def _at(observation: Mapping[str, Tensor], pointer: str) -> Tensor:
        """1 at the node that a scalar names, ``[batch, nodes]``; nowhere where it is -1."""
        nodes = torch.arange(observation["part"].shape[1])
        return (observation[pointer].reshape(-1, 1) == nodes).float()


class _Round(nn.Module):
    """Each node is told what its neighbours are, along the edges of each kind and against them."""

    def __init__(self, width: int, kinds: int) -> None:
        super().__init__()
        self.along, self.against = nn.Linear(kinds * width, width), nn.Linear(kinds * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, state: Tensor, edges: Tensor) -> Tensor:
        told = self.along(self._heard(edges.transpose(2, 3), state)) + self.against(self._heard(edges, state))
        result: Tensor = state + functional.silu(self.norm(told))
        return result

    @staticmethod
    def _heard(edges: Tensor, state: Tensor) -> Tensor:
        """The sums over neighbours, ``[batch, nodes, kinds * width]``."""
        return (edges @ state.unsqueeze(1)).transpose(1, 2).flatten(2)
