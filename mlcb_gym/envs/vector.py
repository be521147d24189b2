# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""N compilers at work behind one Python process: every action is sent before the first observation is awaited."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.driver import Timing
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import TaskError
from mlcb_gym.session import Session


class CompilerVectorEnv(VectorEnv[Observation, np.ndarray, np.ndarray]):
    """A vector environment whose sub-environments share one session; a step takes as long as the slowest compiler.

    Args:
        make: the class of the sub-environments.
        num_envs: how many.
        session: the compiler, or its URI; by default the one that a sub-environment starts. One that is not given is ended by ``close``.
        autoreset_mode: NEXT_STEP (the step after an end returns the first observation of the next episode) or DISABLED.
        kwargs: given to every sub-environment.
    """

    def __init__(
        self,
        make: Callable[..., CompilerEnv],
        *,
        num_envs: int = 1,
        session: Session | str | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        **kwargs: Any,
    ) -> None:
        if autoreset_mode == AutoresetMode.SAME_STEP:
            raise ValueError("autoreset_mode=SAME_STEP: expected NEXT_STEP or DISABLED")
        self.envs: list[CompilerEnv] = []
        try:
            self.envs.append(make(session=session, **kwargs))
            shared = {**kwargs, "session": self.envs[0].session, "programs": self.envs[0].programs}
            self.envs.extend(make(**shared) for _ in range(num_envs - 1))
        except BaseException:
            self.close_extras()
            raise
        first = self.envs[0]
        self.num_envs = num_envs
        self.metadata, self.render_mode = first.metadata | {"autoreset_mode": autoreset_mode}, first.render_mode
        self._autoreset = autoreset_mode == AutoresetMode.NEXT_STEP
        self.single_observation_space, self.single_action_space = first.observation_space, first.action_space
        self.observation_space = batch_space(first.observation_space, num_envs)
        self.action_space = batch_space(first.action_space, num_envs)
        self._ended = np.zeros(num_envs, dtype=bool)

    @property
    def timing(self) -> Timing:
        """The sum over the sub-environments, which are waited for one after another: ``waiting`` is the time that Python itself waited.

        ``cache`` is that of each sub-environment alone, and empty here.
        """
        total = Timing()
        for env in self.envs:
            total.steps += env.timing.steps
            total.episodes += env.timing.episodes
            total.redrawn += env.timing.redrawn
            total.waiting += env.timing.waiting
        return total

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Resets every sub-environment: with ``seed``, ``seed + 1``, ...; or with a list of seeds.

        Args:
            options: those of a sub-environment; ``reset_mask``, ``[num_envs]`` bool, beside them has those alone reset where it is true.

        Raises:
            TaskError: there are not as many seeds, or elements of ``reset_mask``, as sub-environments.
            gymnasium.error.ResetNeeded: ``reset_mask`` leaves out a sub-environment that has no episode yet.
        """
        seeds = seed if isinstance(seed, Sequence) else [None if seed is None else seed + i for i in range(self.num_envs)]
        own_options = {name: value for name, value in (options or {}).items() if name != "reset_mask"} or None
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        self._check_length("reset: seed", seeds)
        self._check_length("reset: reset_mask", mask)
        chosen = np.flatnonzero(mask).tolist()
        self._check_each("reset: reset_mask leaves out", [mask[i] or env.has_begun for i, env in enumerate(self.envs)])
        for i in chosen:
            self.envs[i].reseed(seeds[i])
        for i in chosen:
            self.envs[i].send_reset(own_options)
        infos: dict[str, Any] = {}
        for i in chosen:
            _, info = self.envs[i].receive_reset()
            infos = self._add_info(infos, info, i)
        self._ended[chosen] = False
        return stacked([env.observation for env in self.envs]), infos

    def step(self, actions: np.ndarray) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Sends every action, then collects; the action of an ended sub-environment is ignored, and it begins anew.

        Raises:
            TaskError: there are not as many actions as sub-environments.
            gymnasium.error.ResetNeeded: a sub-environment has no episode, and does not begin anew.
        """
        resetting = self._ended.copy() if self._autoreset else np.zeros(self.num_envs, dtype=bool)
        self._check_length("step: actions", actions)
        self._check_each("step: no episode runs in", [resetting[i] or env.is_running for i, env in enumerate(self.envs)])
        for env, action, reset in zip(self.envs, actions, resetting, strict=True):
            env.send_reset() if reset else env.send(action)
        rewards, terminated, truncated = np.zeros(self.num_envs), np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        infos: dict[str, Any] = {}
        observations = []
        for i, env in enumerate(self.envs):
            if resetting[i]:
                observation, info = env.receive_reset()
            else:
                observation, rewards[i], terminated[i], truncated[i], info = env.receive()
            observations.append(observation)
            infos = self._add_info(infos, info, i)
        self._ended = terminated | truncated
        return stacked(observations), rewards, terminated, truncated, infos

    def render(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """Return a line of each sub-environment, see ``CompilerEnv.render``; None where ``render_mode`` is.

        Raises:
            gymnasium.error.ResetNeeded: there was no episode yet.
        """
        return tuple(line for env in self.envs if (line := env.render()) is not None) or None

    def close_extras(self, **kwargs: Any) -> None:
        """Ends every episode and, where the first sub-environment owns it, the compiler."""
        for env in reversed(self.envs):
            env.close()

    def _check_length(self, name: str, values: Sequence[Any] | np.ndarray) -> None:
        if len(values) != self.num_envs:
            raise TaskError(f"{name} has length {len(values)}, expected {self.num_envs}: one for each sub-environment")

    def _check_each(self, error: str, fine: Sequence[bool]) -> None:
        """Check all sub-environments before one of them is sent anything: otherwise some of them have taken half a step."""
        if wrong := [str(i) for i, each in enumerate(fine) if not each]:
            raise gymnasium.error.ResetNeeded(f"{error} sub-environment {', '.join(wrong)}, expected one that was reset before")

    def _add_info(self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int) -> dict[str, Any]:
        """Gymnasium's, which makes three arrays for every entry, but for entries that other sub-environments have made room for."""
        new = {}
        for name, value in env_info.items():
            if name in vector_infos and not isinstance(value, dict):
                vector_infos[name][env_num], vector_infos[f"_{name}"][env_num] = value, True
            else:
                new[name] = value
        return super()._add_info(vector_infos, new, env_num) if new else vector_infos


def stacked(observations: Sequence[Any]) -> Any:
    """Return observations, arrays or dicts of them, with the sub-environments as their first dimension."""
    first = observations[0]
    if isinstance(first, dict):
        return {name: stacked([each[name] for each in observations]) for name in first}
    return np.stack(observations)
