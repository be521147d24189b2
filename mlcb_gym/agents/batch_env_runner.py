# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RLlib's env runner without its work on every single step of every environment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import numpy as np
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.env import INPUT_ENV_SINGLE_SPACES
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from ray.rllib.utils.metrics import ENV_STEP_TIMER, RLMODULE_INFERENCE_TIMER, WEIGHTS_SEQ_NO

from mlcb_gym.envs.vector import stacked

KEPT = (Columns.ACTION_LOGP, Columns.ACTION_DIST_INPUTS)
"""The outputs of a module that learners read."""

Columnwise = dict[str, Any]


@dataclass
class Chunk:
    """The part of an episode that the sampling under way has seen, of one sub-environment.

    Args:
        first: the index of its first observation in the recording.
        t_started: the steps of the episode before.
    """

    first: int = 0
    t_started: int = 0
    id: str = field(default_factory=lambda: uuid4().hex)


@dataclass
class Recording:
    """Steps of a vector environment: for each a row of every sub-environment, and one more observation."""

    observations: list[Any]
    actions: list[Any] = field(default_factory=list)
    rewards: list[np.ndarray] = field(default_factory=list)
    outputs: list[Columnwise] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rewards)

    def since(self, first: int) -> "Recording":
        """Return the part that begins with the observation ``first``."""
        return Recording(self.observations[first:], self.actions[first:], self.rewards[first:], self.outputs[first:])

    def add(self, observation: Any, action: Any, rewards: np.ndarray, outputs: Columnwise) -> None:
        self.observations.append(observation)
        self.actions.append(action)
        self.rewards.append(rewards)
        self.outputs.append(outputs)

    def batched(self, weights: int) -> "Batched":
        """Return the same, with the steps as the first dimension of every array and the number of the weights that acted."""
        rewards = stacked(self.rewards)
        outputs = stacked(self.outputs) | {WEIGHTS_SEQ_NO: np.full(rewards.shape, weights)}
        return Batched(stacked(self.observations), stacked(self.actions), rewards, outputs)


@dataclass(frozen=True)
class Batched:
    """A recording as arrays: steps, sub-environments, and what one holds."""

    observations: Any
    actions: Any
    rewards: np.ndarray
    outputs: Columnwise

    def episode(self, index: Any, chunk: Chunk, end: int, spaces: Sequence[Any], *, terminated: bool = False, truncated: bool = False) -> Any:
        """Return the chunk of a sub-environment, up to the step ``end``, as RLlib's learners take it."""
        steps = slice(chunk.first, end)

        def own(columns: Any, part: slice = steps) -> Any:
            return _each(lambda column: column[part, index], columns)

        observation_space, action_space = spaces
        return SingleAgentEpisode(
            id_=chunk.id,
            observations=InfiniteLookbackBuffer(own(self.observations, slice(chunk.first, end + 1)), space=observation_space),
            infos=[{}] * (end + 1 - chunk.first),
            actions=InfiniteLookbackBuffer(own(self.actions), space=action_space),
            rewards=InfiniteLookbackBuffer(own(self.rewards)),
            extra_model_outputs={name: InfiniteLookbackBuffer(own(column)) for name, column in self.outputs.items()},
            terminated=terminated,
            truncated=truncated,
            t_started=chunk.t_started,
            len_lookback_buffer=0,
        )


def _each(change: Callable[[Any], Any], arrays: Any) -> Any:
    """Return the results of a function of arrays, for one or a dict of them."""
    return {name: _each(change, each) for name, each in arrays.items()} if isinstance(arrays, dict) else change(arrays)


class BatchEnvRunner(SingleAgentEnvRunner):
    """Samples the same as RLlib's own runner: what the vector environment gives stays in its arrays until episodes leave.

    For ``config.env_runners(env_runner_cls=BatchEnvRunner)``, with a vector environment whose observations are arrays of their own at each
    step, and a module that takes observations as they are, as those of this package do. RLlib's connectors between environment and module,
    its callbacks of episodes and of single steps, and ``infos`` are left out.

    With ``batch_mode="complete_episodes"`` episodes that are under way at the end of a sampling go on in the next one. RLlib's own runner drops them,
    and seeds the environments anew for each sampling: long episodes would never be learnt from, and the same few programs be drawn again.
    """

    _needs_initial_reset: bool
    _observation: Any
    _kept: Recording
    _chunks: list[Chunk]
    _resetting: np.ndarray

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[SingleAgentEpisode]:
        goes_on = num_episodes is not None and self.config.batch_mode == "complete_episodes" and not self.config.in_evaluation
        anew = num_episodes is not None and not goes_on
        if force_reset or self._needs_initial_reset or anew:
            self._reset()
        self._needs_initial_reset = anew
        self.module.eval()  # once, not at every step
        recording, steps = self._kept, 0
        ended: list[tuple[Any, ...]] = []
        while steps < num_timesteps if num_timesteps is not None else len(ended) < (num_episodes or 0):
            outputs = {Columns.ACTIONS: self.env.action_space.sample()} if random_actions else self._decide(explore, steps)
            action = outputs.pop(Columns.ACTIONS)
            with self.metrics.log_time(ENV_STEP_TIMER):
                self._observation, rewards, terminated, truncated, _ = self.env.env.step(outputs.pop(Columns.ACTIONS_FOR_ENV, action))
            kept = {name: outputs[name] for name in KEPT if name in outputs}
            recording.add(self._observation, action, rewards, kept)
            for index in np.flatnonzero(self._resetting):
                self._chunks[index] = Chunk(first=len(recording))
            steps += int((~self._resetting).sum())
            self._resetting = terminated | truncated
            for index in np.flatnonzero(self._resetting):
                how = {"terminated": bool(terminated[index]), "truncated": bool(truncated[index])}
                ended.append((index, self._chunks[index], len(recording), how))
        if not recording:
            return []
        done, going = self._left(recording, ended if goes_on else ended[:num_episodes], goes_on=goes_on)
        self._log_env_steps(metric=self._metrics_num_env_steps_sampled, num_steps=steps)
        self._increase_sampled_metrics(steps, len(done))
        return done if num_timesteps is None else done + going

    def _reset(self) -> None:
        """Begin an episode in every sub-environment; those under way are dropped."""
        self._ongoing_episodes_for_metrics.clear()
        self._observation, _ = self._try_env_reset(seed=self._seed if self._needs_initial_reset else None, options=None)
        self._chunks, self._kept = [Chunk() for _ in range(self.num_envs)], Recording([self._observation])
        self._resetting = np.zeros(self.num_envs, bool)

    def _decide(self, explore: bool, steps: int) -> Columnwise:
        """Return the module's outputs for the present observations, actions among them."""
        batch = {Columns.OBS: _each(self._tensor, self._observation)}
        processes = self.config.num_env_runners or 1
        lifetime = (self.num_env_steps_sampled_lifetime // processes + steps) * processes
        with self.metrics.log_time(RLMODULE_INFERENCE_TIMER), torch.no_grad():
            outputs = self.module._forward_exploration(batch, t=lifetime) if explore else self.module._forward_inference(batch)
            if Columns.ACTIONS not in outputs:
                outputs |= self.drawn(outputs[Columns.ACTION_DIST_INPUTS], explore)
            return {name: _array(value) for name, value in outputs.items() if isinstance(value, torch.Tensor | np.ndarray)}

    def drawn(self, inputs: torch.Tensor, explore: bool) -> Columnwise:
        """Return actions for the inputs of their distribution."""
        made = self.module.get_exploration_action_dist_cls() if explore else self.module.get_inference_action_dist_cls()
        distribution = made.from_logits(inputs)
        actions = (distribution if explore else distribution.to_deterministic()).sample()
        return {Columns.ACTIONS: actions, Columns.ACTION_LOGP: distribution.logp(actions)} if explore else {Columns.ACTIONS: actions}

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        tensor = torch.from_numpy(array).to(self._device)
        return tensor.float() if tensor.is_floating_point() else tensor

    def _left(
        self, recording: Recording, ended: Sequence[tuple[Any, ...]], *, goes_on: bool
    ) -> tuple[list[SingleAgentEpisode], list[SingleAgentEpisode]]:
        """Return the episodes that have ended, and what there is of the others; or keep that, where episodes go on with the next sampling."""
        batched, spaces = recording.batched(self._weights_seq_no), self.get_spaces()[INPUT_ENV_SINGLE_SPACES]
        done = [batched.episode(index, chunk, end, spaces, **how) for index, chunk, end, how in ended]
        self._done_episodes_for_metrics.extend(done)
        running = np.flatnonzero(~self._resetting)
        if goes_on:
            first = min((self._chunks[index].first for index in running), default=len(recording))
            self._kept = recording.since(first)
            for index in running:
                self._chunks[index] = replace(self._chunks[index], first=self._chunks[index].first - first)
            return done, []
        self._kept, going = Recording([self._observation]), []
        for index in running:
            chunk, length = self._chunks[index], len(recording) - self._chunks[index].first
            if length:
                going.append(batched.episode(index, chunk, len(recording), spaces))
                self._ongoing_episodes_for_metrics[chunk.id].append(going[-1])
            self._chunks[index] = Chunk(0, chunk.t_started + length, chunk.id)
        return done, going


def _array(value: Any) -> Any:
    return value.numpy(force=True) if isinstance(value, torch.Tensor) else value
