# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A message-passing network over the dependences of a loop.

It is dense, for graphs have at most some dozens of nodes. The number of nodes is a dynamic axis of the exported graph. Padding behind the nodes has
no edges and is in no set of nodes, so that it does not change any output.
"""

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor, nn
from torch.nn import functional

from mlcb_gym.agents.mlp import Mlp, NetworkConfig
from mlcb_gym.agents.standardised import Standardised

GRAPH = "dependences"
"""The tensor with the edges of a graph, by kind."""

PER_NODE = ("embedding", "opcodes", "memory", "statements", "part")
"""The tensors whose first axis are nodes."""

OF_NODE = ("embedding", "opcodes", "memory")
"""The tensors that are features of a node; with some parameters, there are fewer."""

WIDTH = 16
ROUNDS = 2
"""Rounds of message passing."""

TOLD = 16
"""Width of a message. Its weights, which are separate for each kind of edge, are most of the network's."""

FLAGS = 6
"""Features that all graphs have."""

MIN_DEVIATION = 0.1
"""Least standard deviation that a feature is divided by: one that hardly varies in training gets no more weight."""


class GraphNetwork(Standardised):
    """From an observation of a loop to one logit per choice, ``[batch, choices]``: for the selector of each node, for the distributor of each action.

    A logit depends on the state of the node, which for the distributor is the chosen one, on that of the node placed last, and on the means over the
    last part and over all nodes. A head of zeros takes nodes in their order and splits nothing, for the first of equal choices is taken.

    Args:
        config: the first of ``hidden`` is the width of a node, by default ``WIDTH``.
    """

    def __init__(self, observation_space: spaces.Dict, action_space: "spaces.Discrete[Any]", config: NetworkConfig) -> None:
        super().__init__(least=MIN_DEVIATION)
        shape = {name: space.shape or () for name, space in observation_space.items()}
        kinds, self.nodes, _ = shape[GRAPH]
        width, *hidden = config.hidden or (WIDTH,)
        self.choices = int(action_space.n)
        self.selects = self.choices == self.nodes
        self.of_node = tuple(name for name in OF_NODE if name in shape)
        features = sum(shape[name][1] for name in self.of_node) + kinds + shape["loop"][0] + FLAGS
        self.begin(features)
        self.embed = nn.Linear(features, width)
        self.rounds = nn.ModuleList(_Round(width, kinds) for _ in range(ROUNDS))
        head = NetworkConfig(hidden=tuple(hidden), dropout=config.dropout, final_gain=config.final_gain)
        self.head = Mlp(4 * width, 1 if self.selects else self.choices, head)

    @property
    def summary_width(self) -> int:
        """The number of features of a node."""
        return self.mean.shape[0]

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        return self.rate(observation)[0]

    def rate(self, observation: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits, and the means of the features over all nodes, ``[batch, summary_width]``."""
        edges = torch.asinh(observation[GRAPH])
        both_ways = torch.cat([edges.transpose(2, 3), edges], dim=1)
        features = self._features(observation)
        if self.learns:
            self.learn(features[observation["statements"] > 0])
        features = self.standardised(features)
        summary = self._means(features, self._there(observation)).squeeze(1)
        state = functional.silu(self.embed(features))
        for each in self.rounds:
            state = each(state, both_ways)
        chosen = [] if self.selects else [self._at(observation, "chosen")]
        seen = self._means(state, torch.cat([*chosen, self._there(observation), *self._last_part_and_node(observation)], dim=2))
        if self.selects:
            ratings = self.head(torch.cat([state, seen.expand(-1, state.shape[1], -1)], dim=2)).squeeze(2)
            return functional.pad(ratings, (0, self.choices - ratings.shape[1])), summary
        return self.head(seen.squeeze(1)), summary

    @staticmethod
    def _means(state: Tensor, sets: Tensor) -> Tensor:
        """Return the mean over each set of nodes, one after another, ``[batch, 1, sets * width]``; zeros where it is empty."""
        sums = sets.transpose(1, 2) @ state
        return (sums / sets.sum(dim=1).clamp_min(1).unsqueeze(2)).flatten(1).unsqueeze(1)

    def standardise(self, observation: Mapping[str, Tensor]) -> None:
        """Fixes the statistics of features to those of the nodes in a batch of observations."""
        self.fix(self._features(observation)[observation["statements"] > 0])

    def _features(self, observation: Mapping[str, Tensor]) -> Tensor:
        """Return the features of each node and of the loop, ``[batch, nodes, features]``."""
        own = [observation[name].float() for name in self.of_node]
        statements = observation["statements"].float().unsqueeze(2)
        # Nodes that are alike in all else differ in their place: runtimes round differently, and would break a tie so.
        place = (_nodes(observation).float() / self.nodes).unsqueeze(1).expand_as(statements)
        of_loop = torch.cat([observation["loop"], observation["progress"].reshape(-1, 1)], dim=1).unsqueeze(1)
        known = [*own, self._loops(observation), statements, self._placed(observation), *self._last_part_and_node(observation), place]
        return torch.asinh(torch.cat([*known, of_loop.expand(-1, statements.shape[1], -1)], dim=2))

    @staticmethod
    def _loops(observation: Mapping[str, Tensor]) -> Tensor:
        """Return the edges of each node to itself, ``[batch, nodes, kinds]``."""
        nodes = _nodes(observation)
        return (observation[GRAPH] * (nodes.unsqueeze(1) == nodes).float()).sum(dim=3).transpose(1, 2)

    # Sets of nodes, ``[batch, nodes, 1]``: 1 where a node belongs to it.

    @staticmethod
    def _there(observation: Mapping[str, Tensor]) -> Tensor:
        return (observation["statements"] > 0).float().unsqueeze(2)

    def _placed(self, observation: Mapping[str, Tensor]) -> Tensor:
        return (observation["part"] >= 0).float().unsqueeze(2) * self._there(observation)

    def _last_part_and_node(self, observation: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the part that a node would be put into, and the node that was put there last; empty where none is placed."""
        part, node = observation["part"].float().unsqueeze(2), self._at(observation, "previous")
        last = (node * part).sum(dim=1, keepdim=True)
        return (part == last).float() * self._placed(observation), node

    @staticmethod
    def _at(observation: Mapping[str, Tensor], pointer: str) -> Tensor:
        """Return the node that a scalar is the index of; none where it is -1."""
        return (observation[pointer].reshape(-1, 1) == _nodes(observation)).float().unsqueeze(2)


def _nodes(observation: Mapping[str, Tensor]) -> Tensor:
    return torch.arange(observation["part"].shape[1], device=observation["part"].device)


class _Round(nn.Module):
    """One round of message passing: along the edges of each kind and against them."""

    def __init__(self, width: int, kinds: int) -> None:
        super().__init__()
        told = min(TOLD, width)
        self.tell = nn.Linear(width, told)
        self.hear = nn.Linear(2 * kinds * told, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, state: Tensor, both_ways: Tensor) -> Tensor:
        sums = (both_ways @ self.tell(state).unsqueeze(1)).transpose(1, 2).flatten(2)
        result: Tensor = state + functional.silu(self.norm(self.hear(sums)))
        return result
