# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network as something that chooses actions, and the observations that its features are standardised with."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from mlcb_gym.agents.network import MASK, PolicyNetwork
from mlcb_gym.agents.team import Team
from mlcb_gym.envs.compiler_env import Action, CompilerEnv, Observation
from mlcb_gym.onnx.template import OnnxTemplate
from mlcb_gym.rollout.play import Choose, Decide, LeaveTo, SplitEnv, observed, play_in_order
from mlcb_gym.spec import AGENT


def batch(observations: Sequence[Observation]) -> dict[str, Any]:
    """Observations as tensors with a leading batch axis; parts of several agents each so."""
    columns = {name: [o[name] for o in observations] for name in observations[0]}
    return {name: batch(values) if isinstance(values[0], dict) else torch.from_numpy(np.stack(values)) for name, values in columns.items()}


def asked(observation: Observation) -> tuple[int, Observation]:
    """The index of the agent that is asked, and what it sees."""
    if AGENT not in observation:
        return 0, observation
    agent = int(observation[AGENT])
    return agent, [part for name, part in observation.items() if name != AGENT][agent]


@torch.inference_mode()
def answer(network: PolicyNetwork, observation: Observation) -> np.ndarray:
    """What a network says to one observation: logits, ``[actions]``, or a value, ``[1]``."""
    agent, seen = asked(observation)
    result: np.ndarray = by_agent(network)[agent](batch([seen]))[0].numpy()
    return result


def advised(said: np.ndarray, observation: Observation) -> int | float:
    """What logits, or a value, tell the compiler: the best allowed choice, or the value."""
    _, seen = asked(observation)
    return int(np.where(seen[MASK] > 0, said, -np.inf).argmax()) if MASK in seen else float(said[0])


def advice(network: PolicyNetwork, observation: Observation) -> int | float:
    """What a network tells the compiler: the best allowed choice, or its value."""
    return advised(answer(network, observation), observation)


def greedy(network: PolicyNetwork, env: CompilerEnv) -> Choose:
    """What a network tells the compiler, as actions of its environment."""
    return lambda observation: env.action(advice(network, observation))


class InCompiler:
    """Networks of one architecture that decide in the compiler, where nothing is sent to and fro for a decision.

    Args:
        network: any of them.
        env: where they decide, or another environment of its task.
    """

    def __init__(self, network: nn.Module, env: CompilerEnv) -> None:
        self._templates = [OnnxTemplate(*one) for one in zip(by_agent(network), env.task_spec.declared["agents"], strict=True)]

    def __call__(self, network: nn.Module) -> Decide:
        """What leaves an episode to a network at its first decision."""
        models = [template.filled(own) for template, own in zip(self._templates, by_agent(network), strict=True)]
        return lambda _: LeaveTo(models)


def by_agent(network: nn.Module) -> list[nn.Module]:
    """The networks of a team, or the one."""
    return list(network.values()) if isinstance(network, Team) else [network]


def random(rng: np.random.Generator) -> Choose:
    """Any allowed action, all equally likely; any value, where that is asked for."""

    def choose(observation: Observation) -> Action:
        _, seen = asked(observation)
        if MASK not in seen:
            return rng.random(1, np.float32)
        return int(rng.choice(np.flatnonzero(seen[MASK])))

    return choose


def random_observations(envs: Sequence[SplitEnv], programs: Sequence[Any], episodes: int, seed: int) -> list[Observation]:
    """Every observation of random episodes, over programs that are each taken about equally often."""
    rng = np.random.default_rng(seed)
    scripts = (observed(program, random(own)) for program, own in zip(_drawn(programs, episodes, rng), rng.spawn(episodes), strict=True))
    return [observation for seen in play_in_order(envs, scripts) for observation in seen]


def _drawn(programs: Sequence[Any], count: int, rng: np.random.Generator) -> Iterator[Any]:
    while count > 0:
        for index in rng.permutation(len(programs))[:count]:
            yield programs[index]
        count -= len(programs)
