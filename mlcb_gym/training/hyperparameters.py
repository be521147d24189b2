# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hyperparameters of a recipe as a table: read from its fields and its docstrings."""

import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any


@dataclass(frozen=True)
class Hyperparameter:
    """One key of ``mlcb train --set KEY=VALUE``; the default is as JSON."""

    key: str
    default: str
    meaning: str


def hyperparameters(recipe: Any) -> Iterator[Hyperparameter]:
    """Yield every hyperparameter of a recipe, those of nested dataclasses by their path, as ``network.hidden``."""
    meanings = documented(type(recipe))
    for field in fields(recipe):
        value, meaning = getattr(recipe, field.name), meanings.get(field.name, "")
        if not is_dataclass(value):
            yield Hyperparameter(field.name, json.dumps(value), meaning)
            continue
        for inner in hyperparameters(value):
            said = f"{meaning}: {inner.meaning}" if meaning else inner.meaning
            yield Hyperparameter(f"{field.name}.{inner.key}", inner.default, said)


def documented(made: type) -> dict[str, str]:
    """Return the meanings in the ``Args:`` of the docstrings of a class and its bases, by name.

    Example: of ``"Args:\\n    lr: the learning\\n        rate."`` that is ``{"lr": "the learning rate"}``.
    """
    found: dict[str, str] = {}
    for base in reversed(made.__mro__):
        found |= _arguments(inspect.cleandoc(vars(base).get("__doc__") or ""))
    return {name: meaning.rstrip(".").replace("``", "") for name, meaning in found.items()}


def _arguments(docstring: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in docstring.partition("Args:\n")[2].splitlines():
        indent = len(line) - len(line.lstrip())
        if not indent:
            break
        if indent == 4:
            name, _, text = line.strip().partition(": ")
            found[name] = text
        else:
            found[name] += f" {line.strip()}"
    return found
