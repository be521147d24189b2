# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The network of a checkpoint, without Ray running."""

from pathlib import Path

from ray.rllib.core.rl_module.rl_module import RLModule

from mlcb_gym.agents.network import PolicyNetwork
from mlcb_gym.errors import PolicyError
from mlcb_gym.training.checkpoints import ALGORITHM, reading

MODULE = Path(ALGORITHM) / "learner_group" / "learner" / "rl_module" / "default_policy"


def load_network(checkpoint: Path) -> PolicyNetwork:
    """Return the trained network, in evaluation mode.

    Raises:
        PolicyError: ``checkpoint`` is none that ``train`` wrote, or damaged.
    """
    folder = checkpoint.absolute() / MODULE
    if not folder.is_dir():
        raise PolicyError(f"{checkpoint}: no checkpoint, expected RUN/best or RUN/last (a folder with {MODULE})")
    with reading(checkpoint, PolicyError):
        network: PolicyNetwork = RLModule.from_checkpoint(str(folder)).network
    return network.eval()
