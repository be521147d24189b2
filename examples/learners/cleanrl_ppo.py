# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PPO in one file and without a framework, in the manner of CleanRL (Huang et al., 2022): phase ordering, masked, exported at the end.

python -m examples.learners.cleanrl_ppo 20000 policy
"""

import sys
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import mlcb_gym  # registers the environments  # noqa: F401
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.features import Features
from mlcb_gym.export.export import export_module


@dataclass(frozen=True)
class Settings:
    env_id: str = "PosetRL-v0"
    programs: str = "embedded/train"
    envs: int = 8
    steps: int = 32  # of each environment between two updates
    epochs: int = 4
    minibatches: int = 4
    lr: float = 1e-3
    gamma: float = 1.0
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    seed: int = 1


class Actor(nn.Module):
    """From the tensors of the compiler to logits: this is what is exported."""

    def __init__(self, features: Features, actions: int) -> None:
        super().__init__()
        self.features = features
        self.layers = nn.Sequential(nn.Linear(features.width, 64), nn.Tanh(), nn.Linear(64, actions))

    def forward(self, observation: dict[str, Tensor]) -> Tensor:
        return self.layers(self.features(observation))


class Learner:
    def __init__(self, env: Any, settings: Settings) -> None:
        actions = int(env.action_space.n)
        features = Features(env.observation_space, actions=actions, architecture=Architecture.of(env))
        self.settings, self.actor = settings, Actor(features, actions)
        self.critic = nn.Sequential(nn.Linear(features.width, 64), nn.Tanh(), nn.Linear(64, 1))
        self.optimizer = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=settings.lr)

    def policy(self, observation: dict[str, Tensor]) -> tuple[Categorical, Tensor]:
        """Return the distribution over the allowed actions, and the values, ``[batch]``."""
        features = self.actor.features(observation)
        logits = self.actor.layers(features).masked_fill(observation["action_mask"] == 0, -1e9)
        return Categorical(logits=logits), self.critic(features).squeeze(1)

    def update(self, batch: dict[str, Tensor], observations: dict[str, Tensor]) -> None:
        """Take the epochs of one update; ``batch`` has actions, log probabilities, advantages and returns, ``[steps]`` each."""
        size = len(batch["actions"])
        for _ in range(self.settings.epochs):
            for rows in torch.randperm(size).chunk(self.settings.minibatches):
                distribution, values = self.policy({name: value[rows] for name, value in observations.items()})
                ratio = (distribution.log_prob(batch["actions"][rows]) - batch["log_probs"][rows]).exp()
                gains = batch["advantages"][rows]
                gains = (gains - gains.mean()) / (gains.std() + 1e-8)
                clipped = ratio.clamp(1 - self.settings.clip, 1 + self.settings.clip)
                loss = (
                    -torch.min(ratio * gains, clipped * gains).mean()
                    + 0.5 * (values - batch["returns"][rows]).square().mean()
                    - self.settings.entropy * distribution.entropy().mean()
                )
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*self.actor.parameters(), *self.critic.parameters()], 0.5)
                self.optimizer.step()


def advantages(rewards: Tensor, values: Tensor, ended: Tensor, last: Tensor, settings: Settings) -> Tensor:
    """Return generalised advantages, ``[steps, envs]``; ``ended`` is 1 where a step ended its episode."""
    result, running, following = torch.zeros_like(rewards), torch.zeros_like(last), last
    for step in reversed(range(len(rewards))):
        going = 1 - ended[step]
        error = rewards[step] + settings.gamma * following * going - values[step]
        running = error + settings.gamma * settings.gae_lambda * going * running
        result[step], following = running, values[step]
    return result


def tensors(observation: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.array(value)) for name, value in observation.items()}


def main(total: int, folder: str, settings: Settings = Settings()) -> None:
    torch.manual_seed(settings.seed)
    envs: Any = gymnasium.make_vec(settings.env_id, settings.envs, vectorization_mode="vector_entry_point", programs=settings.programs)
    learner = Learner(envs.envs[0], settings)
    seen, _ = envs.reset(seed=settings.seed)
    observation, resetting, ratios = tensors(seen), np.zeros(settings.envs, bool), []
    for update in range(total // (settings.envs * settings.steps)):
        rows: dict[str, list[Tensor]] = {name: [] for name in ("actions", "log_probs", "values", "rewards", "ended", "real")}
        observations: dict[str, list[Tensor]] = {name: [] for name in observation}
        for _ in range(settings.steps):
            with torch.no_grad():
                distribution, values = learner.policy(observation)
                actions = distribution.sample()
            for name, value in observation.items():
                observations[name].append(value)
            seen, rewards, terminated, truncated, infos = envs.step(actions.numpy())
            ended = terminated | truncated
            ratios += [ratio for ratio, done in zip(infos.get("ratio", []), terminated, strict=False) if done and ratio > 0]
            new = (
                actions,
                distribution.log_prob(actions),
                values,
                torch.tensor(rewards, dtype=torch.float32),
                torch.tensor(ended).float(),
                torch.tensor(~resetting),
            )
            for name, value in zip(rows, new, strict=True):
                rows[name].append(value)
            observation, resetting = tensors(seen), ended  # the step after an end only resets
        with torch.no_grad():
            _, last = learner.policy(observation)
        batch = {name: torch.stack(values) for name, values in rows.items()}
        batch["advantages"] = advantages(batch["rewards"], batch["values"], batch["ended"], last, settings)
        batch["returns"] = batch["advantages"] + batch["values"]
        real = batch.pop("real").flatten()
        seen_here = {name: torch.stack(value).flatten(0, 1)[real] for name, value in observations.items()}
        learner.update({name: value.flatten()[real] for name, value in batch.items()}, seen_here)
        print(f"update {update}: size / -Oz {np.exp(np.mean(np.log(ratios[-100:]))):.4f}" if ratios else f"update {update}", flush=True)
    print(export_module(learner.actor, envs.envs[0], folder))
    envs.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
