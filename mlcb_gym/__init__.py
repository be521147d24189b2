# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine learning for compilers: the optimizations of an unmodified LLVM 22 as Gymnasium environments."""

import gymnasium

__version__ = "0.1.0"

gymnasium.register(
    id="PosetRL-v0",
    entry_point="mlcb_gym.envs.posetrl:PosetRLEnv",
    vector_entry_point="mlcb_gym.envs.posetrl:PosetRLVectorEnv",
)
gymnasium.register(
    id="Inliner-v0",
    entry_point="mlcb_gym.envs.inliner:InlinerEnv",
    vector_entry_point="mlcb_gym.envs.inliner:InlinerVectorEnv",
)
gymnasium.register(
    id="RegAllocEviction-v0",
    entry_point="mlcb_gym.envs.eviction:EvictionEnv",
    vector_entry_point="mlcb_gym.envs.eviction:EvictionVectorEnv",
)
gymnasium.register(
    id="RegAllocPriority-v0",
    entry_point="mlcb_gym.envs.priority:PriorityEnv",
    vector_entry_point="mlcb_gym.envs.priority:PriorityVectorEnv",
)
gymnasium.register(
    id="LoopDistribution-v0",
    entry_point="mlcb_gym.envs.loop_distribution:LoopDistributionEnv",
    vector_entry_point="mlcb_gym.envs.loop_distribution:LoopDistributionVectorEnv",
)
