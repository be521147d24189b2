# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trees of decisions of which every end is known, as tensors: what several agents that take turns can expect at the end."""

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
    """Whether any end is known behind it."""
    return bool(np.isfinite(decision.outcomes).any())


@dataclass(frozen=True)
class Trees:
    """The decisions on programs, all in one batch.

    Args:
        rows: of each agent, which decisions are its.
        observations: of each agent, what it sees there.
        regrets: ``[decisions, actions]``, how much worse than the best log ratio that a decision can still end with is the best behind an answer;
            infinite where no end is known.
        steps: ``[2, steps]`` of all sequences one after another: the decision, and the answer.
        sequences: the one that each step belongs to, ``[steps]``.
        logs: the log ratio that each sequence ends with, ``[sequences]``; 0 is that of the compiler's own heuristic.
        programs: the one that each sequence is of, ``[sequences]``.
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
        """The tree of one program, as ``exhaust`` finds it. A decision behind which the compiler always failed tells nothing."""
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
        """Those of several programs as one."""
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
        """What the agents rate each answer, those of which no end is known ruled out, ``[decisions, actions]``."""
        logits = torch.zeros(self.regrets.shape)
        for name, observation in self.observations.items():
            if observation:
                own: Tensor = team[name](observation)
                logits = logits.index_put((self.rows[name][:, None], torch.arange(own.shape[1])), own)
        return logits.masked_fill(self.regrets == torch.inf, RULED_OUT)

    def expected(self, logits: Tensor, costs: Tensor) -> Tensor:
        """What the sequences of each program cost, ``[sequences]``, on average where answers are drawn, ``[programs]``."""
        steps = logits.log_softmax(dim=1)[self.steps[0], self.steps[1]]
        likely = torch.zeros(len(self.logs)).index_add(0, self.sequences, steps).exp()
        return torch.zeros(self.num_programs).index_add(0, self.programs, likely * costs)

    def best(self) -> Tensor:
        """The log ratio of the best sequence of each program, ``[programs]``."""
        return torch.zeros(self.num_programs).scatter_reduce(0, self.programs, self.logs, "amin", include_self=False)


def _cut(observations: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """One observation without the padding behind its nodes; at least two are left, as exported networks have them."""
    nodes = max(int((observations["statements"] > 0).sum()), 2)
    cut = {name: value[:, :nodes] if name in PER_NODE else value for name, value in observations.items()}
    return cut | {GRAPH: observations[GRAPH][:, :, :nodes, :nodes]}


def _joined(batches: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Batches of graphs as one, padded with zeros to the largest; nothing where there are none."""
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
