# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RLlib's own configs: PPO, DQN, APPO or IMPALA on phase ordering, by a script without `mlcb train`.

python -m examples.learners.rllib PPO 20 checkpoint
mlcb export --trust checkpoint policy --programs embedded/validation
"""

import sys
from pathlib import Path

import ray.rllib.algorithms as algorithms
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from mlcb_gym.agents import MaskedAppo, MaskedDqn, MaskedPolicyGradient

MODULES = {"PPO": MaskedPolicyGradient, "IMPALA": MaskedPolicyGradient, "APPO": MaskedAppo, "DQN": MaskedDqn}


def main(name: str, iterations: int, checkpoint: str) -> None:
    config = (
        getattr(algorithms, f"{name}Config")()
        .environment("PosetRL-v0", env_config={"programs": "embedded/train", "max_steps": 5})
        .env_runners(num_env_runners=1, num_envs_per_env_runner=4, gym_env_vectorize_mode="vector_entry_point")
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MODULES[name], model_config={"network": {"hidden": [64, 64]}}))
        .reporting(min_time_s_per_iteration=1, min_sample_timesteps_per_iteration=256)
    )
    if name == "PPO":
        config.training(train_batch_size_per_learner=256, minibatch_size=64, num_epochs=4)
    algorithm = config.build_algo()
    told = 0
    while told < iterations:  # an asynchronous algorithm has no return to tell while its runners start
        mean = algorithm.train()["env_runners"].get("episode_return_mean")
        told += mean is not None
        print(mean, flush=True)
    print(algorithm.save_to_path(str(Path(checkpoint).absolute())))
    algorithm.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
