# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Behavioural cloning of recorded decisions (Pomerleau, 1989)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mlcb_gym.training.offline import Offline


@dataclass(frozen=True, kw_only=True)
class Bc(Offline):
    """Behavioural cloning: the likelihood of recorded decisions is maximised, whatever they led to.

    ```sh
    mlcb log record inliner --policy default: --programs embedded/train -o heuristic.log
    mlcb train inliner --algo bc --set 'episodes=["heuristic.log"]' -o runs/bc
    ```
    """

    algorithm: ClassVar[str] = "bc"

    @property
    def _loss(self) -> dict[str, Any]:
        return {"beta": 0.0}
