# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training algorithms by name: those that have a file in ``mlcb_gym.training.algorithms``."""

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from mlcb_gym.errors import TrainingError
from mlcb_gym.training import algorithms as files

if TYPE_CHECKING:
    from mlcb_gym.training.recipe import Recipe


def algorithms() -> list[str]:
    """Return the names of the algorithms, importing none of them."""
    return sorted(module.name for module in pkgutil.iter_modules(files.__path__))


def recipe_class(algorithm: str) -> "type[Recipe]":
    """Return the recipe in an algorithm's file: the class that has its name as ``algorithm``.

    Raises:
        TrainingError: there is no such algorithm.
    """
    if algorithm not in algorithms():
        raise TrainingError(f"{algorithm}: no algorithm, expected one of {', '.join(algorithms())}")
    module = import_module(f"{files.__name__}.{algorithm}")
    (made,) = (value for value in vars(module).values() if isinstance(value, type) and vars(value).get("algorithm") == algorithm)
    return made
