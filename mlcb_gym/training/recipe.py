# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The base of all recipes: the hyperparameters that do not depend on the algorithm, and their RLlib config."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import gymnasium
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec

from mlcb_gym.agents.architecture import model_config
from mlcb_gym.agents.batch_env_runner import BatchEnvRunner
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.rollout.network_policy import greedy
from mlcb_gym.rollout.play import Decide
from mlcb_gym.training.training_env import RLLIB_NAME, Environment, Shaping

SAMPLE_SECONDS = 600.0
"""The time that other processes have for the steps of one update; later, these are lost."""


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """Hyperparameters of distillation from decisions with known outcomes (see ``training/imitation/distill.py``).

    Args:
        epochs: passes over all decisions.
        batch: decisions (of a team: programs) of one update.
        lr: the highest learning rate.
        weight_decay: the weight decay of AdamW.
        clip: the norm that gradients are clipped to.
        unit: the log ratio that counts as 1 in the loss.
        limit: the largest regret, as a log ratio; beyond it regrets count alike.
        entropy: the weight of the entropy bonus, which keeps the policy from fitting noise.
        importance: the exponent of a decision's weight. With 0 all decisions count alike: less variance where few decisions stand for many, and no
            bias in whatever depends on the observation alone.
        margin: the log gain that any other action than the heuristic's must exceed. Gains that are known of single decisions do not add up.
        candidates: the number of actions of which, tried in the policy's order, the best one counts, beside the first one alone.
        candidates_weight: the weight of that in the loss.
    """

    epochs: int = 60
    batch: int = 256
    lr: float = 1e-3
    weight_decay: float = 0.05
    clip: float = 1.0
    unit: float = 0.02
    limit: float = 0.1
    entropy: float = 0.03
    importance: float = 1.0
    margin: float = 0.0
    candidates: int = 1
    candidates_weight: float = 4.0


@dataclass(frozen=True)
class Decay:
    """A hyperparameter that falls linearly, and stays where it ends.

    Args:
        first: the value at the start.
        last: the value at the end.
        steps: the environment steps from the one to the other.
    """

    first: float
    last: float
    steps: int

    @property
    def schedule(self) -> list[list[float]]:
        """The schedule as RLlib takes it."""
        return [[0, self.first], [self.steps, self.last]]


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """A training run's hyperparameters. Two runs of the same recipe, environment and commit are equal.

    ``shaping`` is the reward that is learnt, ``distillation`` how first weights are learnt from decisions with known outcomes.

    Args:
        seed: the seed of all that is drawn at random.
        num_envs: compilers at work at once, of each process that samples.
        num_env_runners: the processes that sample beside this one; 0: this one samples.
        gamma: 1: episodes are short, and only where they end counts.
        lr: the learning rate.
        steps_per_iteration: environment steps between two updates of the policy.
        statistics_episodes: random episodes from which the features are standardised before the first update.
    """

    algorithm: ClassVar[str]
    learns_values: ClassVar[bool] = False
    """Whether it also learns an agent that gives a value."""
    learns_teams: ClassVar[bool] = False
    """Whether it also learns several agents."""
    draws: ClassVar[bool] = True
    """Whether the environment draws the programs that are learnt from, by its ``sampling``."""
    space: ClassVar[Mapping[str, str]] = {"lr": "log(1e-5,1e-2)"}
    """The values that a sweep tries by default (see ``search_space``)."""

    seed: int = 1
    num_envs: int = 8
    num_env_runners: int = 0
    gamma: float = 1.0
    lr: float = 3e-4
    steps_per_iteration: int = 1024
    statistics_episodes: int = 32
    shaping: Shaping = field(default_factory=Shaping)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    distillation: Distillation = field(default_factory=Distillation)

    @property
    def processes(self) -> int:
        """The processes of a training: this one, and those that sample beside it."""
        return 1 + self.num_env_runners

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are learnt from."""
        return ()

    def player(self, network: PolicyNetwork, env: CompilerEnv) -> Callable[[PolicyNetwork], Decide]:
        """Return the function from a network to its greedy policy.

        Args:
            network: a network of the same architecture.
            env: the environment, or another one of its task.
        """
        return lambda played: greedy(played, env)

    @abstractmethod
    def config(self, environment: Environment) -> AlgorithmConfig:
        """Return the RLlib config."""

    def _common(self, config: AlgorithmConfig, environment: Environment, module: type[RLModule]) -> AlgorithmConfig:
        arguments = {**environment.arguments, "dense": self.shaping.dense}
        env_config: dict[str, Any] = {"id": environment.id, "arguments": arguments, "shaping": asdict(self.shaping)}
        return (
            config.framework("torch")
            .environment(env=RLLIB_NAME, env_config=env_config, disable_env_checking=True, normalize_actions=False)
            .env_runners(
                env_runner_cls=BatchEnvRunner,
                num_env_runners=self.num_env_runners,
                num_envs_per_env_runner=self.num_envs,
                sample_timeout_s=SAMPLE_SECONDS,
                create_env_on_local_worker=True,  # what is known of the environment is asked of it
                gym_env_vectorize_mode=gymnasium.VectorizeMode.VECTOR_ENTRY_POINT,
            )
            .rl_module(rl_module_spec=RLModuleSpec(module_class=module, model_config=model_config(environment.id, self.network)))
            .debugging(seed=self.seed, log_level="ERROR", log_sys_usage=False)
            .reporting(min_time_s_per_iteration=0, metrics_num_episodes_for_smoothing=100)
        )
