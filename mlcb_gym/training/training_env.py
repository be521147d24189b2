# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The native vector environment that RLlib trains on, with a shaped reward and a stopwatch."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from ray.rllib.algorithms.algorithm import Algorithm
from ray.tune.registry import register_env

from mlcb_gym.rollout.play import Script, play_in_order
from mlcb_gym.rollout.trace import Trace

RLLIB_NAME = "mlcb_gym"
"""The name under which RLlib finds ``TrainingEnv``; checkpoints hold it."""

Objective = Literal["final", "reward"]


@dataclass(frozen=True)
class Environment:
    """An environment by its id and arguments, as ``gymnasium.make_vec`` takes them, in values that JSON can hold."""

    id: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def of_programs(self) -> "Environment":
        """The same environment with episodes of whole programs, as policies are deployed."""
        return replace(self, arguments={name: value for name, value in self.arguments.items() if name != "episode"})

    def make(self, num_envs: int, **overrides: Any) -> VectorEnv[Any, Any, Any]:
        """Return the environments."""
        return gymnasium.make_vec(self.id, num_envs=num_envs, vectorization_mode="vector_entry_point", **{**self.arguments, **overrides})


@dataclass(frozen=True)
class Shaping:
    """The reward that is learnt, from the compiler's measurements.

    ``final``: nothing during the episode, and at its end ``scale * -log(ratio)``, cut at ``scale * limit``. A potential-based
    shaping (Ng et al., 1999) of the environment's own reward: the optimum is the same. But the value to be predicted is about the same in
    every state, whereas the sum of the steps' rewards also holds the distance of the module to -Oz, tens of times the differences between policies.

    ``reward``: the environment's own, times ``scale``.

    Args:
        objective: ``final`` or ``reward``.
        scale: the factor of the reward.
        limit: the largest log ratio, either way, that counts in a final reward; a failed episode counts as the worst.
    """

    objective: Objective = "final"
    scale: float = 20.0
    limit: float = 0.25

    @property
    def dense(self) -> bool:
        """Whether every step must be measured."""
        return self.objective == "reward"

    def shape(self, rewards: np.ndarray, terminated: np.ndarray, infos: Mapping[str, Any]) -> np.ndarray:
        if self.objective == "reward":
            return self.scale * rewards
        failed = infos.get("_error", np.zeros_like(terminated))
        gains = np.where(terminated & failed, -self.limit, 0.0)
        done = terminated & ~failed
        if done.any():  # before, an environment that is not dense has no ratios
            gains[done] = np.clip(-np.log(infos["ratio"][done]), -self.limit, self.limit)
        return self.scale * gains


@dataclass
class Sampled:
    """Samples of a while: steps, episodes that failed, the ratios and lengths of those that ended, and the actions taken.

    Lengths and actions are not known where models in the compiler decide.
    """

    steps: int = 0
    errors: int = 0
    ratios: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    actions: list[float] = field(default_factory=list)

    def __add__(self, other: "Sampled") -> "Sampled":
        return Sampled(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))


class TrainingEnv(VectorWrapper):
    """A wrapper that shapes the reward, and keeps what was ``sampled`` and the seconds spent in the environment.

    ``waited`` is the part of ``seconds`` that was spent waiting for compilers. Episodes played on the sub-environments directly do not count.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], shaping: Shaping) -> None:
        super().__init__(env)
        self.shaping = shaping
        self.seconds = self.waited = 0.0
        self.sampled = Sampled()
        self._lengths = np.zeros(self.num_envs, int)
        self._resetting = np.zeros(self.num_envs, bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Resets the sub-environments; those of processes with neighbouring seeds draw other programs."""
        with self._timed():
            result = self.env.reset(seed=apart(seed) if isinstance(seed, int) else seed, options=options)
        self._resetting[:] = False
        self._lengths[:] = 0
        return result

    def step(  # type: ignore[override]
        self, actions: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        with self._timed():
            observations, rewards, terminated, truncated, infos = self.env.step(actions)
        acted = ~self._resetting
        self.sampled.steps += int(acted.sum())
        self._lengths += acted
        self.sampled.actions += np.ravel(np.asarray(actions)[acted]).tolist()
        self._resetting = terminated | truncated
        self.sampled.lengths += self._lengths[self._resetting].tolist()
        self._lengths[self._resetting] = 0
        failed = infos.get("_error", np.zeros(self.num_envs, bool))
        self.sampled.errors += int(failed.sum())
        for i in np.flatnonzero(terminated & ~failed):
            self.sampled.ratios.append(float(infos["ratio"][i]))
        return observations, self.shaping.shape(rewards, terminated, infos), terminated, truncated, infos

    def play(self, scripts: Iterable[Script[Trace]]) -> list[Trace]:
        """Play scripts on the sub-environments, several at once, and return their results in order. They count as training."""
        with self._timed():
            traces = play_in_order(self.unwrapped.envs, map(self._counted, scripts))
        self.sampled.errors += sum(trace.error is not None for trace in traces)
        self.sampled.ratios += [trace.scored for trace in traces if trace.error is None]
        for trace in traces:  # of those that models in the compiler decided, actions are not known
            self.sampled.actions += [float(value) for action in trace.actions for value in np.ravel(action)]
            self.sampled.lengths += [len(trace.actions)] if trace.actions else []
        return traces

    def _counted(self, script: Script[Trace]) -> Script[Trace]:
        """Count the steps of an episode as soon as it ends: an update may play for minutes."""
        trace = yield from script
        self.sampled.steps += trace.steps
        return trace

    def take(self) -> Sampled:
        """Return what was sampled since the last call."""
        sampled, self.sampled = self.sampled, Sampled()
        return sampled

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started, waited = time.perf_counter(), self.unwrapped.timing.waiting
        yield
        self.seconds += time.perf_counter() - started
        self.waited += self.unwrapped.timing.waiting - waited


def apart(seed: int) -> int:
    """Return a seed far from those of the neighbours of ``seed``: RLlib's processes have successive ones, and so have their sub-environments."""
    return int(np.random.SeedSequence(seed).generate_state(1)[0])


def training_env(algorithm: Algorithm) -> TrainingEnv:
    """Return the vector environment that the algorithm samples from, below RLlib's own wrapper."""
    env: TrainingEnv = algorithm.env_runner.env.env
    return env


def _make_for_rllib(context: Mapping[str, Any]) -> TrainingEnv:
    """Make the environments for RLlib, which in mode ``vector_entry_point`` adds ``num_envs`` to the context."""
    environment = Environment(context["id"], context["arguments"])
    return TrainingEnv(environment.make(context["num_envs"]), Shaping(**context["shaping"]))


def register_for_rllib() -> None:
    """Register ``RLLIB_NAME`` with the Ray that runs; one started later must be registered with anew."""
    register_env(RLLIB_NAME, _make_for_rllib)
