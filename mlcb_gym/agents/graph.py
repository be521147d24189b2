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

from mlcb_gym.agents.features import CLIP
from mlcb_gym.agents.mlp import Mlp, NetworkConfig

GRAPH = "dependences"
"""The tensor that makes an observation one of a graph."""

PER_NODE = ("embedding", "opcodes", "memory", "statements", "part")
"""The tensors whose first axis are nodes."""

WIDTH = 16
ROUNDS = 2
"""How far a node sees."""

MIN_DEVIATION = 0.1
"""What hardly varies in training carries no more weight than this allows."""


class GraphNetwork(nn.Module):
    """Observation of a loop to one number per choice, ``[batch, choices]``: of the selector a rating of each node, of the distributor one of each
    answer, by the node that it is asked about; and by the one before it, the part that it could join, and the mean of all.

    A head of zeros takes nodes as they come and splits nothing, for the first of equal choices is taken.

    Args:
        config: of ``hidden`` the first is the width of a node, by default ``WIDTH``.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, observation_space: spaces.Dict, action_space: "spaces.Discrete[Any]", config: NetworkConfig) -> None:
        super().__init__()
        shape = {name: space.shape or () for name, space in observation_space.items()}
        kinds, self.nodes, _ = shape[GRAPH]
        width, *hidden = config.hidden or (WIDTH,)
        self.choices = int(action_space.n)
        self.selects = self.choices == self.nodes
        per_node = shape["embedding"][1] + shape["opcodes"][1] + shape["memory"][1] + kinds + 5
        features = per_node + shape["loop"][0] + 1
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("deviation", torch.ones(features))
        self.embed = nn.Linear(features, width)
        self.rounds = nn.ModuleList(_Round(width, kinds) for _ in range(ROUNDS))
        head = NetworkConfig(hidden=tuple(hidden), dropout=config.dropout, final_gain=config.final_gain)
        self.head = Mlp(4 * width, 1 if self.selects else self.choices, head)

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        there = (observation["statements"] > 0).float().unsqueeze(2)
        edges = torch.asinh(observation[GRAPH])
        standardised = ((self._features(observation) - self.mean) / self.deviation).clamp(-CLIP, CLIP)
        state = functional.silu(self.embed(standardised)) * there
        for each in self.rounds:
            state = each(state, edges) * there
        previous = self._at(observation, "previous")
        pooled = [self._mean(state, there), self._mean(state, self._in_last_part(observation).unsqueeze(2)), self._mean(state, previous.unsqueeze(2))]
        if self.selects:
            around = torch.cat(pooled, dim=1).unsqueeze(1).expand(-1, state.shape[1], -1)
            logits: Tensor = self.head(torch.cat([state, around], dim=2)).squeeze(2)
            return functional.pad(logits, (0, self.choices - logits.shape[1]))
        chosen = self._mean(state, self._at(observation, "chosen").unsqueeze(2))
        whole: Tensor = self.head(torch.cat([chosen, *pooled], dim=1))
        return whole

    @staticmethod
    def _mean(state: Tensor, chosen: Tensor) -> Tensor:
        """Over the nodes that are chosen, ``[batch, width]``; zeros where none is."""
        return (state * chosen).sum(dim=1) / chosen.sum(dim=1).clamp_min(1)

    def _in_last_part(self, observation: Mapping[str, Tensor]) -> Tensor:
        """1 for the nodes of the part that a node would be put into, ``[batch, nodes]``."""
        part = observation["part"].float()
        last = (self._at(observation, "previous") * part).sum(dim=1, keepdim=True)
        return (
            (part == last).float()
            * (part >= 0).float()
            * (observation["statements"] > 0).float()
            * (observation["previous"].reshape(-1, 1) >= 0).float()
        )

    @torch.no_grad()
    def standardise(self, observation: Mapping[str, Tensor]) -> None:
        """Fixes the statistics of features to those of the nodes in a batch of observations."""
        nodes = self._features(observation)[observation["statements"] > 0]
        self.mean.copy_(nodes.mean(dim=0))
        self.deviation.copy_(nodes.std(dim=0, correction=0).clamp_min(MIN_DEVIATION))

    def _features(self, observation: Mapping[str, Tensor]) -> Tensor:
        """What is known of each node, and of the loop, ``[batch, nodes, features]``."""
        part, statements = observation["part"].float(), observation["statements"].float()
        previous = self._at(observation, "previous")
        placed = (part >= 0).float() * (statements > 0).float()
        # Nodes that are alike in all else differ in their place: runtimes round differently, and would break a tie so.
        place = torch.arange(part.shape[1]).float().expand_as(part) / self.nodes
        flags = torch.stack([torch.asinh(statements), placed, self._in_last_part(observation), previous, place], dim=2)
        rows = [torch.asinh(observation[name].float()) for name in ("embedding", "opcodes", "memory")]
        rows.append(self._loops(observation[GRAPH]))
        of_loop = torch.cat([torch.asinh(observation["loop"]), observation["progress"].reshape(-1, 1)], dim=1)
        return torch.cat([*rows, flags, of_loop.unsqueeze(1).expand(-1, part.shape[1], -1)], dim=2)

    @staticmethod
    def _loops(edges: Tensor) -> Tensor:
        """The edges of each node to itself, ``[batch, nodes, kinds]``."""
        nodes = torch.arange(edges.shape[2])
        own = (nodes.reshape(-1, 1) == nodes).float()
        return torch.asinh((edges * own).sum(dim=3).transpose(1, 2))

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
