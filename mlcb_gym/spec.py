# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bound task spec, as C++ declares it, turned into Gymnasium spaces and tables."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces

from mlcb_gym import _native
from mlcb_gym.errors import TaskError

AGENT = "agent"
"""The key of an observation of several agents that has the index of the acting one."""

MASK = "action_mask"
"""Name of the tensor with the mask of allowed actions; never an input of a network."""


@dataclass(frozen=True)
class Tensor:
    """One tensor.

    Args:
        shape: the maximal length of every dimension.
        varying: which dimensions travel with their true length.
        role: ``input``, ``mask`` (never an input of a model), ``heuristic`` (an input that holds the answer of the compiler's own heuristic) or
            ``metric``.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    varying: tuple[bool, ...]
    low: float
    high: float
    doc: str
    role: str

    @classmethod
    def from_json(cls, declared: Mapping[str, Any]) -> "Tensor":
        """Return the tensor that a member of ``inputs`` declares."""
        dims = declared["shape"]
        return cls(
            name=declared["name"],
            dtype=declared["dtype"],
            shape=tuple(d["at_most"] if isinstance(d, dict) else d for d in dims),
            varying=tuple(isinstance(d, dict) for d in dims),
            low=declared["low"],
            high=declared["high"],
            doc=declared["doc"],
            role=declared["role"],
        )

    @property
    def is_empty(self) -> bool:
        """Whether it has no element with these parameters: then no observation has it."""
        return 0 in self.shape

    @property
    def space(self) -> spaces.Space[Any]:
        """The Gymnasium space; a mask is MultiBinary, so that ``Discrete.sample(mask=...)`` takes it as it is. A scalar is a vector of one."""
        if self.role == "mask":
            return spaces.MultiBinary(self.shape)
        return spaces.Box(self.low, self.high, self.shape or (1,), np.dtype(self.dtype).type)

    def padded(self, value: np.ndarray | None) -> np.ndarray:
        """Return a value padded with zeros to its maximal shape; all zeros for None."""
        whole = np.zeros(self.shape or (1,), self.dtype)
        if value is not None:
            whole[tuple(map(slice, value.shape))] = value
        return whole


@dataclass(frozen=True)
class Agent:
    """The observations and the advice of one agent."""

    name: str
    inputs: tuple[Tensor, ...]
    advice: Mapping[str, Any]

    @cached_property
    def mask(self) -> str | None:
        """The name of the tensor with the mask of allowed advice; None where all advice is allowed."""
        return next((t.name for t in self.inputs if t.role == "mask"), None)

    @cached_property
    def heuristic(self) -> str | None:
        """The name of the tensor with the answer of the compiler's own heuristic; None where there is none."""
        return next((t.name for t in self.inputs if t.role == "heuristic"), None)

    def tensor(self, name: str) -> Tensor:
        """Return the tensor of this name."""
        return next(t for t in self.inputs if t.name == name)

    @property
    def observation_space(self) -> spaces.Dict:
        """The tensors by their names, those left out that have no element."""
        return spaces.Dict({t.name: t.space for t in self._observed})

    @property
    def action_space(self) -> "spaces.Discrete[np.int64] | spaces.Box":
        """An index of a choice, or a value: ``Box`` [1], of any finite float."""
        if self.advice["kind"] == "value":
            return spaces.Box(-np.inf, np.inf, (1,), np.float32)
        return spaces.Discrete(self.advice["choices"])

    @cached_property
    def _observed(self) -> tuple[Tensor, ...]:
        return tuple(t for t in self.inputs if not t.is_empty)

    @cached_property
    def _varies(self) -> bool:
        return any(any(t.varying) for t in self.inputs)

    @cached_property
    def _scalars(self) -> tuple[str, ...]:
        return tuple(t.name for t in self.inputs if not t.shape)

    @cached_property
    def _empty(self) -> tuple[str, ...]:
        return tuple(t.name for t in self.inputs if t.is_empty)

    def observation(self, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the tensors of a message as an element of ``observation_space``; all zeros for those that are missing."""
        if self._varies or not tensors:
            return {t.name: t.padded(tensors.get(t.name)) for t in self._observed}
        observed = dict(tensors)
        for name in self._empty:
            del observed[name]
        for name in self._scalars:
            observed[name] = observed[name].reshape(1)
        return observed


@dataclass(frozen=True)
class TaskSpec:
    """A bound spec: every shape is known, and ``digest`` names it. ``json`` is what travels on the wire and into policies."""

    json: str

    @cached_property
    def declared(self) -> Mapping[str, Any]:
        """The members of ``json``."""
        return json.loads(self.json)

    @property
    def task(self) -> str:
        """The name of the task, as ``posetrl``."""
        return self.declared["task"]

    @property
    def digest(self) -> str:
        """The digest of all but the sentences, in hexadecimal: both ends of a conversation, and policies, must agree on it."""
        return self.declared["digest"]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The values that both ends must agree on beside the tensors, as the texts of actions."""
        return self.declared["parameters"]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of everything that the task's compiler measures."""
        return tuple(metric["name"] for metric in self.declared["metrics"])

    @cached_property
    def agents(self) -> tuple[Agent, ...]:
        """The agents, in the order of their indices."""
        return tuple(Agent(a["name"], tuple(Tensor.from_json(t) for t in a["inputs"]), a["advice"]) for a in self.declared["agents"])

    @property
    def observation_space(self) -> spaces.Dict:
        """The tensors of the only agent; of several, ``agent``, the index of the acting one, and a ``Dict`` for each by its name."""
        if len(self.agents) == 1:
            return self.agents[0].observation_space
        parts = [(a.name, a.observation_space) for a in self.agents]
        return spaces.Dict(OrderedDict([(AGENT, spaces.Discrete(len(self.agents))), *parts]))  # a plain dict would be sorted

    @property
    def action_space(self) -> "spaces.Discrete[np.int64] | spaces.Box":
        """The space of the only agent; of several, which choose, as many choices as any of them has."""
        if len(self.agents) == 1:
            return self.agents[0].action_space
        return spaces.Discrete(max(a.advice["choices"] for a in self.agents))

    def action_mask(self, agent: Agent, observation: Mapping[str, Any]) -> np.ndarray | None:
        """Return the mask of an agent in an observation, as long as ``action_space`` has choices; None where every action is allowed."""
        if agent.mask is None:
            return None
        if len(self.agents) == 1:
            return observation[agent.mask]
        own = observation[agent.name][agent.mask]
        return np.pad(own, (0, int(self.action_space.n) - len(own)))  # type: ignore[union-attr]

    def observation(self, agent: int, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
        """Return the tensors of a message to an agent as an element of ``observation_space``; the parts of other agents are all zeros."""
        if len(self.agents) == 1:
            return self.agents[0].observation(tensors)
        parts = {a.name: a.observation(tensors if i == agent else {}) for i, a in enumerate(self.agents)}
        return {AGENT: np.int64(agent), **parts}


def bind(task: str, parameters: Mapping[str, Any]) -> TaskSpec:
    """Return a declared task bound with parameters.

    Raises:
        TaskError: there is no such task or parameter, or a parameter has another type.
    """
    if task not in _native.tasks():
        known = ", ".join(_native.tasks())
        raise TaskError(f"task {task!r} is not in this build, expected one of {known}, or a build that has it")
    try:
        return TaskSpec(_native.bind(task, json.dumps(parameters)))
    except _native.InvalidArgument as error:
        raise TaskError(str(error)) from error


def unbound(task: str) -> TaskSpec:
    """Return a declared task with its lists empty: a length that follows from one is 0."""
    parameters = bind(task, {}).parameters
    return bind(task, {name: [] for name, value in parameters.items() if isinstance(value, list)})


def acting_agent(observation: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the index of the agent that acts on an observation, and its part of it; 0 and the whole where there is only one agent."""
    if AGENT not in observation:
        return 0, observation
    agent = int(observation[AGENT])
    return agent, [part for name, part in observation.items() if name != AGENT][agent]


def table(spec: TaskSpec) -> str:
    """Return the observations of a task as a Markdown table, for docs. A length that follows from the arguments of the environment is a star."""
    rows = ["| agent | tensor | dtype | shape (`*`: by arguments) | low | high | meaning |", "|---|---|---|---|---|---|---|"]
    for agent in spec.agents:
        for t in agent.inputs:
            shape = " × ".join(str(length or "*") for length in t.shape) or "1"
            rows.append(f"| {agent.name} | `{t.name}` | {t.dtype} | {shape} | {t.low:g} | {t.high:g} | {t.doc} |")
    return "\n".join(rows)
