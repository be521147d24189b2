# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stand-in for the compiler with PosetRL's spaces, where the best policy is known: for tests of learning.

Programs ``toy:0`` ... ``toy:15`` differ in kind (index modulo 3) and in size. Action 0 is "-Oz"; action 1 + kind then saves 4 %, another
one costs 1 %; action 4 stops. The best episode is 0, 1 + kind, stop, at 0.96 of -Oz.
"""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array

from mlcb_gym.envs.halves import HalvedEnv, Info, Step
from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.envs.record import Action, Observation, TaskRecord
from mlcb_gym.session.request import Target
from mlcb_gym.spec import TaskSpec

OPTIMUM = 0.96
ACTIONS = ("default<Oz>", "kind0", "kind1", "kind2", "stop")
PROGRAMS = tuple(f"toy:{i}" for i in range(16))
HISTORY = 4
TENSORS = (
    ("embedding", "float32", (300,), -1e9, 1e9),
    ("opcodes", "int64", (68,), 0, 10**9),
    ("properties", "int64", (40,), -(10**9), 10**9),
    ("instructions", "int64", (2,), 0, 10**9),
    ("progress", "float32", (), 0, 1),
    ("last_actions", "int64", (HISTORY,), -1, 10**6),
)


class ToyTiming:
    """The times of a compiler's environment."""

    waiting = 0.0


class ToyEnv(HalvedEnv):
    """One episode at a time; ``info`` carries ``program`` and ``ratio`` as a compiler's environment does."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]
    record: ClassVar[TaskRecord] = PosetRLEnv.record
    takes_models = False
    num_actions = len(ACTIONS)
    session, target = None, Target()
    objective, metrics = ("size", "size_oz"), ("size", "size_oz")
    observation_space: spaces.Dict

    def __init__(self, *, programs: tuple[str, ...] = PROGRAMS, max_steps: int = 6, dense: bool = True) -> None:
        self.programs = (programs,) if isinstance(programs, str) else tuple(programs)
        self.max_steps, self.dense = max_steps, dense
        boxes = {name: spaces.Box(low, high, shape, np.dtype(dtype).type) for name, dtype, shape, low, high in TENSORS}
        self.observation_space = spaces.Dict({**boxes, "action_mask": spaces.MultiBinary(len(ACTIONS))})
        self.action_space = spaces.Discrete(len(ACTIONS))
        self.timing = ToyTiming()

    @property
    def task_spec(self) -> TaskSpec:
        inputs = [{"name": n, "dtype": d, "shape": list(s), "low": lo, "high": hi, "doc": "", "role": "input"} for n, d, s, lo, hi in TENSORS]
        mask = {"name": "action_mask", "dtype": "int8", "shape": [len(ACTIONS)], "low": 0, "high": 1, "doc": "", "role": "mask"}
        advice = {"kind": "argmax", "name": "subsequence", "choices": len(ACTIONS), "doc": ""}
        agent = {"name": "orderer", "inputs": [*inputs, mask], "advice": advice}
        parameters = {"actions": list(ACTIONS), "max_steps": self.max_steps, "start": "unoptimized"}
        return TaskSpec(json.dumps({"task": "toy", "parameters": parameters, "digest": "0" * 32, "agents": [agent], "metrics": []}))

    @property
    def ratio(self) -> float:
        return float(self._size / self._oz)

    def action(self, advice: int | float) -> int:
        return int(advice)

    def send_reset(self, options: dict[str, Any] | None = None) -> None:
        drawn = self.programs[self.np_random.integers(len(self.programs))]
        self._program = (options or {}).get("program", drawn)
        index = int(self._program.split(":")[1])
        self._kind, self._oz = index % 3, 500 * (1 + index) ** 2
        self._size = 1.5 * self._oz
        self._taken: list[int] = []

    def receive_reset(self) -> tuple[Observation, Info]:
        return self._observation(), self._info()

    def send(self, action: Action) -> None:
        before, action = self._size, int(action)
        if action == 0:
            self._size = min(self._size, float(self._oz))
        elif action < 4 and self._size < 1.4 * self._oz and action not in self._taken:
            self._size *= OPTIMUM if action == 1 + self._kind else 1.01
        self._taken.append(action)
        ended = action == 4 or len(self._taken) == self.max_steps
        self._stepped = self._observation(), (before - self._size) / self._oz, ended, False, self._info(ended)

    def send_models(self, models: Sequence[bytes]) -> None:
        raise NotImplementedError("it takes no models")

    def receive(self) -> Step:
        return self._stepped

    def ready(self) -> bool:
        return True

    def fileno(self) -> int:
        return -1

    def _observation(self) -> Observation:
        now, start = int(self._size // 4), int(1.5 * self._oz // 4)
        signature = np.roll(np.linspace(0, 1, 300), 100 * self._kind)
        last = (self._taken[::-1] + [-1] * HISTORY)[:HISTORY]
        return {
            "embedding": (now * signature).astype(np.float32),
            "opcodes": np.full(68, now // 68, np.int64),
            "properties": np.full(40, now // 7, np.int64),
            "instructions": np.array([now, start], np.int64),
            "progress": np.array(len(self._taken) / self.max_steps, np.float32),
            "last_actions": np.array(last, np.int64),
            "action_mask": np.ones(len(ACTIONS), np.int8),
        }

    def _info(self, ended: bool = False) -> Info:
        measured = {"ratio": self.ratio} if self.dense or ended else {}
        return {"program": self._program, **measured}


class ToyVectorEnv(VectorEnv[dict[str, np.ndarray], np.ndarray, np.ndarray]):
    """The native vector environment's contract: next-step autoreset, one call for all."""

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # type: ignore[misc]

    def __init__(self, num_envs: int, **arguments: Any) -> None:
        self.num_envs = num_envs
        self.envs = [ToyEnv(**arguments) for _ in range(num_envs)]
        self.single_observation_space, self.single_action_space = self.envs[0].observation_space, self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.timing = ToyTiming()
        self._ended = np.zeros(num_envs, bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._ended[:] = False
        results = [env.reset(seed=None if seed is None else seed + i, options=options) for i, env in enumerate(self.envs)]
        return self._batch([r[0] for r in results]), self._infos([r[1] for r in results])

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        results = [
            (*env.reset()[:1], 0.0, False, False, env._info()) if ended else env.step(action)
            for env, ended, action in zip(self.envs, self._ended, actions, strict=True)
        ]
        observations, rewards, terminated, truncated, infos = zip(*results, strict=True)
        self._ended = np.array(terminated) | np.array(truncated)
        return self._batch(observations), np.array(rewards), np.array(terminated), np.array(truncated), self._infos(infos)

    def _batch(self, observations: Any) -> Any:
        return concatenate(self.single_observation_space, observations, create_empty_array(self.single_observation_space, self.num_envs))

    def _infos(self, infos: Any) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for i, info in enumerate(infos):
            merged = self._add_info(merged, info, i)
        return merged


gymnasium.register("KnownOptimum-v0", entry_point=f"{__name__}:ToyEnv", vector_entry_point=f"{__name__}:ToyVectorEnv")
