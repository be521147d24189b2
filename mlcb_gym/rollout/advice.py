# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the output of a model to the advice that the compiler gets."""

from typing import Any

import numpy as np

from mlcb_gym.errors import PolicyError
from mlcb_gym.spec import MASK, acting_agent


def advice_of(output: np.ndarray, observation: dict[str, Any]) -> int | float:
    """Return the best allowed choice of logits, ``[actions]``, or the value, ``[1]``, of an agent that has no mask. A NaN is not allowed.

    Raises:
        PolicyError: all logits that the mask allows are NaN.
    """
    _, seen = acting_agent(observation)
    return _best(output, seen[MASK] > 0) if MASK in seen else float(output[0])


def _best(logits: np.ndarray, allowed: np.ndarray) -> int:
    (candidates,) = np.nonzero(allowed & ~np.isnan(logits))
    if not candidates.size:
        raise PolicyError("the model says NaN for all that its mask allows, expected a number")
    return int(candidates[logits[candidates].argmax()])
