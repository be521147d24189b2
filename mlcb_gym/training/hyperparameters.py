# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hyperparameters of a recipe: a table, read from its fields and its docstrings, and changes to them."""

import inspect
import json
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from mlcb_gym.errors import TrainingError


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


def changed(recipe: Any, changes: Mapping[str, Any], path: str = "") -> Any:
    """Return a recipe with some hyperparameters changed; nested ones as mappings, as in JSON.

    Raises:
        TrainingError: it has no such hyperparameter, or one of another type.
    """
    known = typing.get_type_hints(type(recipe))
    values = {}
    for name, value in changes.items():
        names = sorted(field.name for field in fields(recipe))
        if name not in names:
            owner = path.removesuffix(".") or recipe.algorithm
            raise TrainingError(f"{path}{name}: {owner} has no such hyperparameter, expected one of {', '.join(names)}")
        current = getattr(recipe, name)
        if is_dataclass(current) and isinstance(value, Mapping):
            values[name] = changed(current, value, f"{path}{name}.")
        else:
            values[name] = _fitting(f"{path}{name}", value, known[name])
    return replace(recipe, **values)


def _fitting(path: str, value: Any, kind: Any) -> Any:
    """Return a value of a kind, given as JSON has it: an integer for a float, 2e5 for an integer, a list for a tuple."""
    if typing.get_origin(kind) is typing.Literal:
        if value not in typing.get_args(kind):
            raise TrainingError(f"{path}={json.dumps(value)}: expected one of {', '.join(map(str, typing.get_args(kind)))}")
        return value
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise TrainingError(f"{path}={json.dumps(value)}: expected a list, as [256,256]")
        return tuple(_fitting(path, each, typing.get_args(kind)[0]) for each in value)
    if kind is float and type(value) is int:
        return value
    if kind is int and type(value) is float and value.is_integer():  # as 2e5 is
        return int(value)
    if type(value) is not kind:
        expected = ", ".join(f"{path}.{part.name}" for part in fields(kind)) if is_dataclass(kind) else kind.__name__
        raise TrainingError(f"{path}={json.dumps(value, default=str)}: expected {expected}")
    return value


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by their paths as nested mappings.

    Example: ``{"lr": 1e-4, "network.hidden": [64]}`` is ``{"lr": 1e-4, "network": {"hidden": [64]}}``.

    Raises:
        TrainingError: one is in a mapping that is a value itself.
    """
    made: dict[str, Any] = {}
    for path, value in values.items():
        *outer, name = path.split(".")
        inner = made
        for key in outer:
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                raise TrainingError(f"{path}: {key} has a value itself, {inner!r}, expected one of the two")
        inner[name] = value
    return made


CONSTANTS = {"True": True, "False": False, "None": None}


def json_or_text(text: str) -> Any:
    """Return the value of a text: of JSON, of Python's ``True``, ``False`` and ``None``, or else itself."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def documented(made: type) -> dict[str, str]:
    """Return the meanings in the docstrings of a class and its bases, see ``arguments_in``."""
    found: dict[str, str] = {}
    for base in reversed(made.__mro__):
        found |= arguments_in(vars(base).get("__doc__") or "")
    return found


ARGUMENT = re.compile(r"^    (\w+): (.+?)(?=^    \w|\Z)", re.MULTILINE | re.DOTALL)
"""A name and its meaning, whose further lines are indented."""


def arguments_in(docstring: str) -> dict[str, str]:
    """Return the meanings in the ``Args:`` of a docstring, by name.

    Example: of ``"Args:\\n    lr: the learning\\n        rate."`` that is ``{"lr": "the learning rate"}``.
    """
    listed = inspect.cleandoc(docstring).partition("Args:\n")[2].partition("\n\n")[0]
    return {name: " ".join(meaning.replace("``", "").split()).rstrip(".") for name, meaning in ARGUMENT.findall(listed)}
