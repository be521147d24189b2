# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stable-Baselines3: MaskablePPO of sb3-contrib on inlining, with the inputs normalised in the network, so that it can be exported as it is.

python -m examples.learners.stable_baselines3 2000 policy
"""

import sys
from typing import Any

import gymnasium
from sb3_contrib import MaskablePPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.features import Features
from mlcb_gym.export.export import export_module


class Extractor(BaseFeaturesExtractor):
    """The features of a task as its record declares them, instead of the raw numbers."""

    def __init__(self, observation_space: gymnasium.spaces.Dict, actions: int, architecture: Architecture) -> None:
        features = Features(observation_space, actions=actions, architecture=architecture)
        super().__init__(observation_space, features.width)
        self.features = features

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        return self.features(observations)


def main(steps: int, folder: str) -> None:
    env: Any = gymnasium.make("Inliner-v0", programs="embedded/train")
    facts = {"actions": int(env.action_space.n), "architecture": Architecture.of(env)}
    policy_kwargs = {"features_extractor_class": Extractor, "features_extractor_kwargs": facts}
    model = MaskablePPO("MultiInputPolicy", env, n_steps=512, policy_kwargs=policy_kwargs, seed=1, verbose=1)
    model.learn(steps)
    policy = model.policy
    print(export_module(nn.Sequential(policy.features_extractor, policy.mlp_extractor.policy_net, policy.action_net), env, folder))
    env.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
