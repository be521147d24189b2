# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments of one task that share a compiler."""

from collections.abc import Callable
from typing import Any

from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.rollout.play import PARALLEL


class EnvPool:
    """Environments for ``play``, ``PARALLEL`` of them for each set of arguments; all share the compiler of the first one.

    Args:
        make: makes an environment.
        common: arguments of all of them.
    """

    def __init__(self, make: Callable[..., CompilerEnv], **common: Any) -> None:
        self._make, self._common = make, common
        self._made: dict[str, list[CompilerEnv]] = {}

    def envs(self, **arguments: Any) -> list[CompilerEnv]:
        """Return the environments with these arguments, which replace the common ones."""
        merged = {**self._common, **arguments}
        key = repr(sorted(merged.items()))
        if key not in self._made:
            self._made[key] = []
            for _ in range(PARALLEL):
                self._made[key].append(self._make(**merged | self._shared()))
        return self._made[key]

    def close(self) -> None:
        """Ends every episode, and the compiler, which the first environment owns."""
        for env in reversed([env for envs in self._made.values() for env in envs]):
            env.close()

    def _shared(self) -> dict[str, Any]:
        first = next((env for envs in self._made.values() for env in envs), None)
        return {} if first is None else {"session": first.session}
