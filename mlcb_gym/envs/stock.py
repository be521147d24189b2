# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments of a stock compiler: what it cannot do, and its session."""

from collections.abc import Callable, Mapping
from typing import Any

from mlcb_gym.errors import TaskError
from mlcb_gym.session import Session, StockSession, Target, WorkerSession

COMPILERS = ("plugin", "stock")

UNKNOWN: Mapping[str, Any] = {"dense": False, "forbidden": (), "verify": False, "target": Target(), "metrics": ()}
"""Arguments that a stock compiler does not know, with the values that ask for nothing."""


def compiler_of(
    compiler: str, stock: Callable[[], StockSession], arguments: Mapping[str, Any], unknown: Mapping[str, Any] = UNKNOWN
) -> Callable[[], Session]:
    """Return what makes the session of an environment that is given none.

    Args:
        compiler: one of ``COMPILERS``.
        stock: makes the session of the stock compiler.
        arguments: those of the environment.
        unknown: arguments that a stock compiler does not know, with the values that ask for nothing.

    Raises:
        TaskError: there is no such compiler, or it is a stock one and an argument asks for what that does not know.
    """
    if compiler not in COMPILERS:
        raise TaskError(f"compiler={compiler!r}: expected one of {', '.join(COMPILERS)}")
    if compiler == "plugin":
        return WorkerSession
    for name, nothing in unknown.items():
        value = arguments.get(name, nothing)
        value = tuple(value) if isinstance(nothing, tuple) else value
        if value != nothing:
            raise TaskError(f"{name}={value!r}: a stock compiler knows none, expected compiler='plugin'")
    session = arguments.get("session")
    if session is not None and not isinstance(session, StockSession):
        raise TaskError(f"session={type(session).__name__}: compiler='stock' starts its own, expected compiler='plugin'")
    return stock
