# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every registered environment conforms on every kind of compiler that it has."""

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

import gymnasium
import pytest

from mlcb_gym import VERSIONS
from mlcb_gym.corpus.programs import Program
from mlcb_gym.envs import env_class, environments
from mlcb_gym.testing import ScriptedCompiler, check_compiler_env

KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "scripted": lambda: {"session": ScriptedCompiler()},
    "worker": lambda: {"session": "worker:"},
    "pipe": lambda: {"session": "pipe:"},
    "stock": lambda: {"compiler": "stock"},
}
"""The arguments of an environment by its kind of compiler."""


def has_stock_compiler(task: str) -> bool:
    """Whether the environment of a task, or a class that it is made of, takes a compiler by name."""
    return any("compiler" in signature(vars(made)["__init__"]).parameters for made in env_class(task).__mro__ if "__init__" in vars(made))


IDS = {env_id: task for task, env_id in environments().items()} | VERSIONS
CASES = [(env_id, kind) for env_id, task in IDS.items() for kind in KINDS if kind != "stock" or has_stock_compiler(task)]


@cache
def programs(env_id: str) -> tuple[Program, ...]:
    """The environment's own, resolved once: the checker makes it several times."""
    with gymnasium.make(env_id, session=ScriptedCompiler()) as env:
        return env.get_wrapper_attr("programs")


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
@pytest.mark.parametrize(("env_id", "kind"), CASES)
def test_env_conforms(env_id: str, kind: str) -> None:
    check_compiler_env(gymnasium.make(f"mlcb_gym:{env_id}", programs=programs(env_id), **KINDS[kind]()))
