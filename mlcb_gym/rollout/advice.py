# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the output of a model to the advice that the compiler gets."""

from typing import Any

import numpy as np

from mlcb_gym.spec import MASK, acting_agent


def advice_of(output: np.ndarray, observation: dict[str, Any]) -> int | float:
    """Return the best allowed choice of logits, ``[actions]``, or the value, ``[1]``, of an agent that has no mask."""
    _, seen = acting_agent(observation)
    return int(np.where(seen[MASK] > 0, output, -np.inf).argmax()) if MASK in seen else float(output[0])
