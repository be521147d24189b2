# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments that tests make with a few arguments of their own, and that are closed after them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from mlcb_gym.envs.compiler_env import CompilerEnv

Env = TypeVar("Env", bound=CompilerEnv)


@contextmanager
def making(env_class: Callable[..., Env], **usual: Any) -> Iterator[Callable[..., Env]]:
    """Makes environments with the usual arguments where a test gives no others, and closes them."""
    made: list[Env] = []

    def make(*chosen: Any, **arguments: Any) -> Env:
        made.append(env_class(*chosen, **usual | arguments))
        return made[-1]

    yield make
    for env in made:
        env.close()
