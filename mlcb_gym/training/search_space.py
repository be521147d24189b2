# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values that a sweep tries, as text: ``log(1e-5,1e-3)``, ``uniform(0.9,1)``, ``int(1,5)`` (5 included), ``[[64],[256,256]]`` (a choice)."""

import json
import re
from collections.abc import Mapping
from math import isinf
from typing import Any

from ray import tune
from ray.tune.search.sample import Categorical, Domain

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.hyperparameters import changed, json_or_text, nested
from mlcb_gym.training.recipe import Recipe

RANGE = re.compile(r"(log|uniform|int)\(([^,()]+),([^,()]+)\)")
KINDS = {"log": tune.loguniform, "uniform": tune.uniform, "int": lambda low, high: tune.randint(int(low), int(high) + 1)}
EXPECTED = "expected log(LOW,HIGH), uniform(LOW,HIGH), int(LOW,HIGH) or a list of values"


def search_space(start: Recipe, texts: Mapping[str, str]) -> dict[str, Domain]:
    """Return the domains of hyperparameters, by their paths.

    Raises:
        TrainingError: there is none; the recipe has no such hyperparameter, or it takes no value of the domain; the text is none of those above.
    """
    if not texts:
        raise TrainingError(f"{start.algorithm}: an empty search space, expected some NAME=DOMAIN as lr=log(1e-5,1e-3)")
    space = {name: domain(name, text) for name, text in texts.items()}
    for name, values in space.items():
        for value in values.categories if isinstance(values, Categorical) else [values.lower]:
            with_values(start, {name: value})
    return space


def domain(name: str, text: str) -> Domain:
    """Return the domain of one hyperparameter. A choice of lists is one of their texts, for searchers know scalars alone."""
    if found := RANGE.fullmatch(text.replace(" ", "")):
        kind, *bounds = found.groups()
        low, high = (_number(name, text, bound) for bound in bounds)
        if not low < high or isinf(low) or isinf(high) or (kind == "log" and low <= 0):
            raise TrainingError(f"{name}={text}: expected LOW < HIGH{', both above 0' if kind == 'log' else ''}, both finite")
        if kind == "int" and not (low.is_integer() and high.is_integer()):
            raise TrainingError(f"{name}={text}: expected integers")
        return KINDS[kind](low, high)
    values = json_or_text(text)
    if not isinstance(values, list) or not values:
        raise TrainingError(f"{name}={text}: {EXPECTED}")
    return tune.choice([value if isinstance(value, bool | int | float | str) else json.dumps(value) for value in values])


def with_values(start: Recipe, values: Mapping[str, Any]) -> Recipe:
    """Return a recipe with the values that a searcher has chosen, by their paths.

    Raises:
        TrainingError: it has no such hyperparameter, or takes no such value.
    """
    chosen = {name: json_or_text(value) if isinstance(value, str) else value for name, value in values.items()}
    made: Recipe = changed(start, nested(chosen))
    return made


def _number(name: str, text: str, bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        raise TrainingError(f"{name}={text}: {bound!r} is no number, {EXPECTED}") from None
