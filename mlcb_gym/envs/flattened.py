# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Observations as one vector within [-1, 1], for learners that bring a network of their own."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import TaskError
from mlcb_gym.spec import AGENT, MASK

LINEAR = 2.0
"""The largest range of a tensor that is scaled linearly; others are scaled by their logarithm."""


class FlattenedObservation(gymnasium.ObservationWrapper[np.ndarray, Any, Observation]):
    """All tensors but the mask, one after another in the order of their names, as a ``Box(-1, 1, [n], float32)``.

    An element whose declared range is at most ``LINEAR`` is divided by its largest magnitude; of any other its inverse hyperbolic sine is, which is
    close to a logarithm: 10 and 1000 instructions are as far from each other as 1000 and 100 000. The mask stays in ``info["action_mask"]`` and
    ``action_masks()``.

    Raises:
        TaskError: the environment is of several agents.
    """

    def __init__(self, env: gymnasium.Env[Observation, Any]) -> None:
        super().__init__(env)
        declared = env.observation_space
        assert isinstance(declared, spaces.Dict)
        if AGENT in declared.spaces:
            raise TaskError("an observation of several agents is no vector, expected mlcb_gym.envs.aec or mlcb_gym.envs.multi_agent")
        self._boxes = {name: space for name, space in declared.items() if isinstance(space, spaces.Box) and name != MASK}
        size = sum(int(np.prod(box.shape)) for box in self._boxes.values())
        self.observation_space = spaces.Box(-1.0, 1.0, (size,), np.float32)

    def observation(self, observation: Observation) -> np.ndarray:
        """Return the vector, ``[n]`` float32."""
        parts = [_scaled(observation[name], float(box.low.min()), float(box.high.max())) for name, box in self._boxes.items()]
        return np.concatenate(parts, dtype=np.float32).clip(-1.0, 1.0)

    def action_masks(self) -> np.ndarray:
        """See ``CompilerEnv.action_masks``."""
        masks: np.ndarray = self.env.get_wrapper_attr("action_masks")()
        return masks


def _scaled(value: np.ndarray, low: float, high: float) -> np.ndarray:
    flat, largest = np.ravel(value).astype(np.float64), max(-low, high, 1e-9)
    return flat / largest if high - low <= LINEAR else np.arcsinh(flat) / np.arcsinh(largest)
