# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers for tests of environments, agents and tools: a compiler without LLVM, with the same wire format, and a conformance check."""

import socket
import threading
from collections.abc import Mapping
from typing import Any, ClassVar
from zlib import crc32

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

from mlcb_gym import _native
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.session import Episode, EpisodeRequest
from mlcb_gym.spec import MASK, TaskSpec, Tensor, bind

STOP = "stop"


class ScriptedCompiler:
    """A session whose compiler is a thread: observations are a function of the program and the actions so far, and every metric decreases by 10 a
    step from 1000. Several agents take turns.

    Args:
        horizon: decisions after which an episode ends, where the task has no ``max_steps``.
    """

    takes_models: ClassVar[bool] = True

    def __init__(self, *, horizon: int = 5) -> None:
        self._horizon = horizon
        self._threads: list[threading.Thread] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> "ScriptedCompiler":
        return self  # gymnasium.make copies its arguments; a running compiler is shared

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        """Return the task bound with these parameters, as a session does."""
        return bind(task, parameters)

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        """Starts an episode, whose compiler is a thread of this process."""
        ours, theirs = socket.socketpair()
        compiler = _native.Compiler.serve(theirs.detach(), spec.json, list(request.metrics), measure=request.measure)
        thread = threading.Thread(target=self._play, args=(compiler, spec, request), daemon=True)
        thread.start()
        self._threads.append(thread)
        return Episode.on_socket(ours.detach(), spec, request)

    def close(self) -> None:
        """Waits for the compilers, whose channels the environment has closed."""
        for thread in self._threads:
            thread.join(5.0)
        self._threads.clear()

    def _play(self, compiler: _native.Compiler, spec: TaskSpec, request: EpisodeRequest) -> None:
        taken: list[int] = []
        actions = spec.parameters.get("actions", [])
        horizon = spec.parameters.get("max_steps", self._horizon)
        try:
            while len(taken) < horizon and not (taken and taken[-1] < len(actions) and actions[taken[-1]] == STOP):
                advice = compiler.observe(*self._state(spec, request, taken))
                taken.append(advice if isinstance(advice, int) else crc32(repr(advice).encode()))
            compiler.end("horizon", *self._state(spec, request, taken))
        except (_native.PeerGone, _native.PeerError):
            pass
        finally:
            compiler.close()

    @staticmethod
    def _state(spec: TaskSpec, request: EpisodeRequest, taken: list[int]) -> tuple[int, dict[str, np.ndarray], dict[str, float]]:
        random = np.random.default_rng([crc32(request.program.read_bytes()), *taken])
        agent = len(taken) % len(spec.agents)
        tensors = {tensor.name: _draw(tensor, random) for tensor in spec.agents[agent].inputs}
        return agent, tensors, {name: 1000 - 10 * len(taken) for name in request.metrics}


def _draw(tensor: Tensor, random: np.random.Generator) -> np.ndarray:
    if tensor.role == "mask":
        return np.ones(tensor.shape, tensor.dtype)
    low, high = max(tensor.low, -100.0), min(tensor.high, 100.0)
    shape = [random.integers(1, length + 1) if varies else length for length, varies in zip(tensor.shape, tensor.varying, strict=True)]
    return random.uniform(low, high, shape).astype(tensor.dtype)


def check_compiler_env(env: gymnasium.Env[Any, Any], *, steps: int = 40) -> None:
    """Raises AssertionError where an environment of this package breaks Gymnasium's rules or its own.

    Runs Gymnasium's checker, then: equal seeds give equal episodes, ``info`` included, unless the environment is not ``deterministic``; a
    mask allows at least one action; an illegal action ends the episode with a return of -1; ``close`` can be called twice.
    """
    compiler_env = env.unwrapped
    assert isinstance(compiler_env, CompilerEnv), f"{env} is no CompilerEnv"
    check_env(compiler_env, skip_render_check=compiler_env.render_mode is None)
    first, second = (_episode(compiler_env, steps) for _ in range(2))
    assert repr(first) == repr(second) or not compiler_env.deterministic, "two runs with the same seed differ"
    _, info = compiler_env.reset(seed=0)
    _, reward, terminated, truncated, info = compiler_env.step(-1)
    assert terminated
    assert not truncated
    assert reward == -1.0
    assert "illegal action -1" in info["error"]
    compiler_env.close()
    compiler_env.close()


def _episode(env: CompilerEnv, steps: int) -> list[Any]:
    observation, info = env.reset(seed=7)
    env.action_space.seed(7)
    seen: list[Any] = [observation, info]
    for _ in range(steps):
        mask = info.get(MASK)
        assert mask is None or mask.any(), "a mask allows no action"
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample(mask=mask))
        seen += [observation, reward, terminated, truncated, info]
        if terminated or truncated:
            break
    return seen
