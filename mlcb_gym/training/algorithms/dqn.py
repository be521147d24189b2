# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Double DQN (van Hasselt et al., 2016), the algorithm of POSET-RL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ray.rllib.algorithms.dqn import DQNConfig

from mlcb_gym.agents.masked_dqn import MaskedDqn
from mlcb_gym.training.recipe import Decay, Recipe
from mlcb_gym.training.training_env import Environment


@dataclass(frozen=True)
class Replay:
    """A prioritised replay buffer (Schaul et al., 2016).

    Args:
        capacity: the transitions that it holds.
        alpha: the exponent of priorities; 0 draws uniformly.
        beta: the exponent of importance weights; 1 corrects the draw in full.
        warmup: environment steps before the first update.
    """

    capacity: int = 50_000
    alpha: float = 0.6
    beta: float = 0.4
    warmup: int = 1_000


@dataclass(frozen=True, kw_only=True)
class Dqn(Recipe):
    """Double DQN with prioritised replay and n-step returns; epsilon decays.

    An update of ``batch`` transitions is made per ``fragment`` steps of every environment: one per environment step, RLlib's default,
    costs more than the compiler does.

    ```sh
    mlcb train posetrl --algo dqn --set epsilon.steps=50000 -o runs/dqn
    ```

    Args:
        epsilon: the share of random actions.
        batch: transitions of one update.
        fragment: steps of every environment between two updates.
        n_step: steps whose rewards are summed up before the value of a state is taken.
        target_every: environment steps between two copies of the network into the target network.
        grad_clip: the norm that gradients are clipped to.
    """

    algorithm: ClassVar[str] = "dqn"
    space: ClassVar[Mapping[str, str]] = {
        "lr": "log(3e-5,3e-3)",
        "n_step": "int(1,5)",
        "fragment": "int(1,8)",
        "network.hidden": "[[64],[128,128],[256,256]]",
    }

    epsilon: Decay = Decay(1.0, 0.02, 20_000)
    replay: Replay = Replay()
    batch: int = 256
    fragment: int = 4
    n_step: int = 3
    target_every: int = 1_000
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
            epsilon=self.epsilon.schedule,
            train_batch_size_per_learner=self.batch,
            target_network_update_freq=self.target_every,
            num_steps_sampled_before_learning_starts=self.replay.warmup,
            grad_clip=self.grad_clip,
            replay_buffer_config={
                "type": "PrioritizedEpisodeReplayBuffer",
                "capacity": self.replay.capacity,
                "alpha": self.replay.alpha,
                "beta": self.replay.beta,
            },
        )
