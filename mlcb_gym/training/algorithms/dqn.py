# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Double DQN (van Hasselt et al., 2016), the algorithm of POSET-RL."""

from dataclasses import dataclass
from typing import ClassVar

from ray.rllib.algorithms.dqn import DQNConfig

from mlcb_gym.agents.masked_dqn import MaskedDqn
from mlcb_gym.training.environment import Environment
from mlcb_gym.training.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class Dqn(Recipe):
    """Double DQN with prioritised replay and n-step returns; epsilon falls from 1 to ``final_epsilon`` over ``epsilon_steps``.

    An update of ``batch`` transitions is made per ``fragment`` steps of every environment: one per environment step, RLlib's default,
    costs more than the compiler does.
    """

    algorithm: ClassVar[str] = "dqn"

    batch: int = 256
    fragment: int = 4
    replay: int = 50_000
    warmup: int = 1_000
    n_step: int = 3
    target_every: int = 1_000
    final_epsilon: float = 0.02
    epsilon_steps: int = 20_000
    grad_clip: float = 10.0

    def config(self, environment: Environment) -> DQNConfig:
        config = self._common(DQNConfig(), environment, MaskedDqn)
        config.env_runners(rollout_fragment_length=self.fragment)
        config.reporting(min_sample_timesteps_per_iteration=self.steps_per_iteration)
        return config.training(
            lr=self.lr,
            gamma=self.gamma,
            double_q=True,
            dueling=False,
            n_step=self.n_step,
            epsilon=[[0, 1.0], [self.epsilon_steps, self.final_epsilon]],
            train_batch_size_per_learner=self.batch,
            target_network_update_freq=self.target_every,
            num_steps_sampled_before_learning_starts=self.warmup,
            grad_clip=self.grad_clip,
            replay_buffer_config={
                "type": "PrioritizedEpisodeReplayBuffer",
                "capacity": self.replay,
                "alpha": 0.6,
                "beta": 0.4,
            },
        )
