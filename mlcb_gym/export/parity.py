# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parity of a policy in torch, ONNX Runtime and the in-process runners, on observations of real episodes."""

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.corpus.programs import ProgramsLike
from mlcb_gym.envs import env_class
from mlcb_gym.envs.halves import HalvedEnv
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import PolicyError
from mlcb_gym.export.checkpoint import load_network
from mlcb_gym.export.deployed import runner_uri
from mlcb_gym.rollout.network_policy import advice, answer, greedy
from mlcb_gym.rollout.onnx_policy import OnnxPolicy, in_process
from mlcb_gym.rollout.play import observed, play_in_order
from mlcb_gym.spec import MASK, acting_agent

VALUE_TOLERANCE = 1e-4
"""The relative difference of values that is tolerated (absolute below 1): runtimes round differently, and a power multiplies that."""


@dataclass(frozen=True)
class Parity:
    """The differences between two runtimes of one policy.

    Args:
        observations: the number of observations compared.
        max_error: the largest difference of a logit; of a value, relative to the value, or to 1 where it is less.
        disagreements: the number of observations whose advice differs.
    """

    observations: int
    max_error: float
    disagreements: int

    def __str__(self) -> str:
        return f"{self.observations} observations (largest difference {self.max_error:.2e}, {self.disagreements} other decisions)"


def check_parity(checkpoint: Path, folder: Path, programs: ProgramsLike, *, compiled: Path | None = None, trust: bool = False) -> Parity:
    """Play the policy of a checkpoint on programs, and compare torch, ONNX Runtime and the in-process runners on all its observations.

    Args:
        compiled: the policy in ``folder`` compiled ahead of time.
        trust: as of ``load_network``.

    Raises:
        PolicyError: two of them differ in a decision.
    """
    network, policy = load_network(checkpoint, trust=trust), OnnxPolicy(folder)
    arguments = {"reward": "none", **policy.env_arguments}
    with closing(env_class(policy.task)(programs=programs, **arguments)) as env:
        observations = greedy_observations(network, [env], env.programs)
    if not observations:
        raise PolicyError(f"{programs}: nothing is decided there, so nothing can be compared")
    parity = compare(network, policy, observations)
    expected = [policy.advice(observation) for observation in observations]
    for uri in map(runner_uri, filter(None, (folder, compiled))):
        others = _disagreements(in_process(uri, observations), expected)
        if parity.disagreements or others:
            raise PolicyError(f"{folder}: torch and ONNX Runtime: {parity}; {others} other decisions of {uri}")
    return parity


def compare(network: PolicyNetwork, policy: OnnxPolicy, observations: Sequence[Observation]) -> Parity:
    """Compare torch with ONNX Runtime, observation by observation."""
    errors = [_error(answer(network, o), policy.logits(o), is_value=MASK not in acting_agent(o)[1]) for o in observations]
    others = _disagreements([advice(network, o) for o in observations], [policy.advice(o) for o in observations])
    return Parity(len(observations), float(np.max(errors)), others)


def _error(expected: np.ndarray, actual: np.ndarray, *, is_value: bool) -> float:
    return float((np.abs(expected - actual) / (np.abs(expected).clip(min=1) if is_value else 1)).max())


def _disagreements(advice: Sequence[int | float], expected: Sequence[int | float]) -> int:
    """Return the number of differences; of values, those beyond the tolerance."""
    tolerances = [VALUE_TOLERANCE if isinstance(b, float) else 0 for b in expected]
    return sum(not math.isclose(a, b, rel_tol=t, abs_tol=t) for a, b, t in zip(advice, expected, tolerances, strict=True))


def greedy_observations(network: PolicyNetwork, envs: Sequence[HalvedEnv], programs: Sequence[Any]) -> list[Observation]:
    """Return the observations of one greedy episode per program."""
    scripts = (observed(program, greedy(network, envs[0])) for program in programs)
    return [observation for seen in play_in_order(envs, scripts) for observation in seen]
