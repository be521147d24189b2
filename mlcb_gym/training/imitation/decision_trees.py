# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trees of decisions with known outcomes, as tensors: the expected outcome of several agents that take turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mlcb_gym.agents.graph import GRAPH, PER_NODE
from mlcb_gym.agents.team import Team
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.search.decisions import Decision
from mlcb_gym.spec import acting_agent

RULED_OUT = -1e9


def has_outcome(decision: Decision) -> bool:
    """Return whether the outcome of any action is known."""
    return bool(np.isfinite(decision.outcomes).any())


@dataclass(frozen=True)
class Trees:
    """The decisions on programs, all in one batch.

    Example: a program has a first decision with actions 0 and 1. Action 0 ends the episode at a ratio of 1; action 1 leads to a second decision,
    whose action 0 ends it at e^-0.2 and whose action 1 fails. Then ``regrets`` are [[0.2, 0], [0, inf]]: the best ratio behind the first decision is
    e^-0.2. There are two sequences: ``steps`` are [[0, 0, 1], [0, 1, 0]], ``sequences`` [0, 1, 1], ``logs`` [0, -0.2] and ``programs`` [0, 0]. Agents
    that take either action with a chance of 1/2 take the sequences with chances of 1/2 and 1/2, since the failed action is ruled out.

    Args:
        rows: the indices of each agent's decisions.
        observations: each agent's observations of its decisions.
        regrets: ``[decisions, actions]``, the best log ratio behind an action above the best one behind the decision; infinite where none is known.
        steps: ``[2, steps]`` of all sequences one after another: the decision, and the action.
        sequences: the sequence of each step, ``[steps]``.
        logs: the final log ratio of each sequence, ``[sequences]``; 0 is that of the compiler's own heuristic.
        programs: the program of each sequence, ``[sequences]``.
    """

    rows: Mapping[str, Tensor]
    observations: Mapping[str, Mapping[str, Tensor]]
    regrets: Tensor
    steps: Tensor
    sequences: Tensor
    logs: Tensor
    programs: Tensor

    @classmethod
    def of(cls, decisions: Sequence[Decision], agents: Sequence[str]) -> "Trees":
        """Return the tree of one program, as an exhaustive search finds it, without decisions behind which the compiler always failed."""
        decisions = [decision for decision in decisions if has_outcome(decision)]
        places = {decision.taken: place for place, decision in enumerate(decisions)}
        outcomes = np.stack([d.outcomes for d in decisions])
        ends = [(*d.taken, int(action)) for d, row in zip(decisions, outcomes, strict=True) for action in np.flatnonzero(row < np.inf)]
        ends = [end for end in ends if end not in places]
        steps = [(places[end[:depth]], answer) for end in ends for depth, answer in enumerate(end)]
        who, seen = zip(*(acting_agent(decision.observation) for decision in decisions), strict=True)
        rows = {name: np.flatnonzero(np.array(who) == agent) for agent, name in enumerate(agents)}
        return cls(
            {name: torch.from_numpy(own) for name, own in rows.items()},
            {name: _joined([_cut(batch([seen[row]])) for row in own]) for name, own in rows.items()},
            torch.from_numpy(np.log(outcomes) - np.log(outcomes.min(axis=1, keepdims=True))).float(),
            torch.tensor(steps).T,
            torch.repeat_interleave(torch.tensor([len(end) for end in ends])),
            torch.tensor([decisions[places[end[:-1]]].outcomes[end[-1]] for end in ends], dtype=torch.float32).log(),
            torch.zeros(len(ends), dtype=torch.int64),
        )

    @classmethod
    def joined(cls, trees: Sequence["Trees"]) -> "Trees":
        """Return the trees of several programs as one batch."""
        decisions, sequences, programs = (
            [0, *np.cumsum(counts).tolist()]
            for counts in ([len(t.regrets) for t in trees], [len(t.logs) for t in trees], [t.num_programs for t in trees])
        )
        first = torch.tensor([[1], [0]])
        return cls(
            {name: torch.cat([t.rows[name] + at for t, at in zip(trees, decisions, strict=False)]) for name in trees[0].rows},
            {name: _joined([t.observations[name] for t in trees]) for name in trees[0].rows},
            torch.cat([t.regrets for t in trees]),
            torch.cat([t.steps + at * first for t, at in zip(trees, decisions, strict=False)], dim=1),
            torch.cat([t.sequences + at for t, at in zip(trees, sequences, strict=False)]),
            torch.cat([t.logs for t in trees]),
            torch.cat([t.programs + at for t, at in zip(trees, programs, strict=False)]),
        )

    @property
    def num_programs(self) -> int:
        return int(self.programs[-1]) + 1

    def logits(self, team: Team) -> Tensor:
        """Return the agents' logits, ``[decisions, actions]``; actions without a known outcome are ruled out."""
        logits = torch.zeros(self.regrets.shape)
        for name, observation in self.observations.items():
            if observation:
                own: Tensor = team[name](observation)
                logits = logits.index_put((self.rows[name][:, None], torch.arange(own.shape[1])), own)
        return logits.masked_fill(self.regrets == torch.inf, RULED_OUT)

    def expected(self, logits: Tensor, costs: Tensor) -> Tensor:
        """Return the expected cost of each program, ``[programs]``, from the costs of its sequences, ``[sequences]``, where actions are drawn."""
        steps = logits.log_softmax(dim=1)[self.steps[0], self.steps[1]]
        likely = torch.zeros(len(self.logs)).index_add(0, self.sequences, steps).exp()
        return torch.zeros(self.num_programs).index_add(0, self.programs, likely * costs)

    def best(self) -> Tensor:
        """Return the log ratio of the best sequence of each program, ``[programs]``."""
        return torch.zeros(self.num_programs).scatter_reduce(0, self.programs, self.logs, "amin", include_self=False)


def _cut(observations: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return one observation without the padding behind its nodes, of which two are kept at least, as in exported networks."""
    nodes = max(int((observations["statements"] > 0).sum()), 2)
    cut = {name: value[:, :nodes] if name in PER_NODE else value for name, value in observations.items()}
    return cut | {GRAPH: observations[GRAPH][:, :, :nodes, :nodes]}


def _joined(batches: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return batches of graphs as one, padded with zeros to the largest; empty where there are none."""
    batches = [each for each in batches if each]
    largest = max((each[GRAPH].shape[-1] for each in batches), default=0)
    grown = [_grown(each, largest) for each in batches]
    return {name: torch.cat([each[name] for each in grown]) for name in (grown[0] if grown else ())}


def _grown(observations: Mapping[str, Tensor], nodes: int) -> Mapping[str, Tensor]:
    more = nodes - observations[GRAPH].shape[-1]
    if more == 0:
        return observations
    along = {name: (0, 0) * (value.dim() - 2) + (0, more) for name, value in observations.items() if name in PER_NODE}
    pads = along | {GRAPH: (0, more, 0, more)}
    return {name: functional.pad(value, pads[name]) if name in pads else value for name, value in observations.items()}
