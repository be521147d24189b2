# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PettingZoo: the two agents of loop distribution take turns; here both choose at random.

python -m examples.learners.pettingzoo_turns 3
"""

import sys

import gymnasium

from mlcb_gym.envs.aec import CompilerAecEnv


def main(episodes: int) -> None:
    env = CompilerAecEnv(gymnasium.make("LoopDistribution-v0", programs="loops/train/coupled_pair", render_mode="ansi"))
    for episode in range(episodes):
        env.reset(seed=episode)
        for agent in env.agent_iter():
            _, _, terminated, truncated, info = env.last()
            env.step(None if terminated or truncated else env.action_space(agent).sample(mask=info["action_mask"]))
        print(env.render())
    env.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
