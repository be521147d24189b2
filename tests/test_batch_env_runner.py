# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The env runner that leaves observations batched: it samples what RLlib's own samples."""

from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from mlcb_gym.agents import BatchEnvRunner, MaskedPolicyGradient
from mlcb_gym.training.ray_session import start_ray
from mlcb_gym.training.run import recipe
from mlcb_gym.training.training_env import Environment, apart
from tests.support import known_optimum  # noqa: F401  (registers KnownOptimum-v0)

STEPS, TIMES = 30, 4


@pytest.fixture(scope="module", autouse=True)
def running_ray() -> None:
    start_ray()


def config(algorithm: str) -> AlgorithmConfig:
    return recipe(algorithm, {"num_envs": 3, "seed": 7}).config(Environment("KnownOptimum-v0"))


def sampled(kind: type[SingleAgentEnvRunner], algorithm: str, **arguments: Any) -> list[list[SingleAgentEpisode]]:
    """Return the episodes of several calls."""
    runner = kind(config=config(algorithm), worker_index=0, num_workers=0)
    calls = [runner.sample(**arguments) for _ in range(TIMES)]
    # Steps of episodes that are dropped count too.
    counted = runner.get_metrics().get("num_env_steps_sampled_lifetime")
    runner.stop()
    assert (counted.peek() if counted else 0) == sum(map(len, chain(*calls))) or "num_episodes" in arguments
    return calls


def contents(episode: SingleAgentEpisode) -> list[np.ndarray]:
    """Return all that a learner reads of an episode."""
    outputs = [
        episode.get_extra_model_outputs(name) for name in (Columns.ACTION_LOGP, Columns.ACTION_DIST_INPUTS) if name in episode.extra_model_outputs
    ]
    observations = episode.get_observations()
    flags = np.array([episode.is_terminated, episode.is_truncated, episode.t_started, episode.t])
    return [*(observations[name] for name in sorted(observations)), episode.get_actions(), episode.get_rewards(), *outputs, flags]


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
@pytest.mark.parametrize("arguments", [{"num_timesteps": STEPS}, {"num_episodes": 5}], ids=["steps", "episodes"])
def test_episodes_are_those_of_rllibs_own_runner(algorithm: str, arguments: dict[str, int]) -> None:
    own, theirs = (sampled(kind, algorithm, **arguments, explore=True) for kind in (BatchEnvRunner, SingleAgentEnvRunner))
    assert list(map(len, own)) == list(map(len, theirs))
    for mine, other in zip(chain(*own), chain(*theirs), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(contents(mine), contents(other), strict=True))


def test_no_step_is_no_episode() -> None:
    assert sampled(BatchEnvRunner, "ppo", num_timesteps=0, explore=True) == [[]] * TIMES


def test_chunks_of_an_episode_have_its_name_and_follow_one_another() -> None:
    chunks: dict[str, list[SingleAgentEpisode]] = {}
    for call in sampled(BatchEnvRunner, "ppo", num_timesteps=STEPS, explore=True):
        for episode in call:
            chunks.setdefault(episode.id_, []).append(episode)
    cut = [parts for parts in chunks.values() if len(parts) > 1]
    assert cut
    for parts in cut:
        for before, after in pairwise(parts):
            assert (before.is_done, before.t) == (False, after.t_started)
            assert np.array_equal(before.get_observations(-1)["embedding"], after.get_observations(0)["embedding"])


def test_whole_episodes_go_on_where_the_sampling_before_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int | None] = []
    reset = BatchEnvRunner._try_env_reset

    def noted(runner: BatchEnvRunner, *, seed: int | None, options: Any) -> Any:
        seeds.append(seed)
        return reset(runner, seed=seed, options=options)

    monkeypatch.setattr(BatchEnvRunner, "_try_env_reset", noted)
    runner = BatchEnvRunner(config=config("mlgo"), worker_index=0, num_workers=0)
    episodes = [episode for _ in range(8) for episode in runner.sample(explore=True)]
    counted = runner.get_metrics()["num_env_steps_sampled_lifetime"].peek()
    kept = sum(len(runner._kept) - runner._chunks[index].first for index in np.flatnonzero(~runner._resetting))
    runner.stop()
    assert seeds == [7]
    assert all(episode.is_done and episode.t_started == 0 for episode in episodes)
    assert sum(map(len, episodes)) + kept == counted  # no step is lost


def test_processes_with_neighbouring_seeds_share_no_stream() -> None:
    streams = [apart(seed) + index for seed in range(8) for index in range(64)]
    assert len(set(streams)) == len(streams)


def test_script_of_ones_own_learns_with_it() -> None:
    config = (
        PPOConfig()
        .environment("PosetRL-v0", env_config={"programs": "embedded/train/fft", "max_steps": 3})
        .env_runners(env_runner_cls=BatchEnvRunner, num_env_runners=0, num_envs_per_env_runner=2, gym_env_vectorize_mode="vector_entry_point")
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedPolicyGradient))
        .training(train_batch_size_per_learner=32, minibatch_size=16, num_epochs=1)
    )
    algorithm = config.build_algo()
    result = algorithm.train()
    algorithm.stop()
    assert np.isfinite(result["env_runners"]["episode_return_mean"])
    assert result["env_runners"]["num_env_steps_sampled_lifetime"] >= 32
