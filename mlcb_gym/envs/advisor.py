# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the environments of LLVM's own advisors share: two compilers that ask, and a reward against what LLVM itself decides."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from mlcb_gym.envs.relative import RelativeEnv
from mlcb_gym.errors import TaskError
from mlcb_gym.session import Session, StockSession, Target

COMPILERS = ("plugin", "stock")


class AdvisorEnv(RelativeEnv):
    """An episode of a compiler whose own heuristic is the baseline, and which may be an untouched one.

    Args:
        compiler: "plugin", our worker, or "stock", which knows none of ``dense``, ``forbidden``, ``verify`` and ``target``.
        kwargs: see ``RelativeEnv``.

    Raises:
        TaskError: a compiler that is none, or what a stock compiler does not know.
    """

    not_stock: ClassVar[Mapping[str, Any]] = {"dense": False, "forbidden": (), "verify": False, "target": Target()}
    """What only our worker knows, and what asks for nothing."""

    def __init__(self, *, parameters: Mapping[str, Any], dense: bool, compiler: str, **kwargs: Any) -> None:
        if compiler not in COMPILERS:
            raise TaskError(f"compiler={compiler!r}: expected one of {', '.join(COMPILERS)}")
        if compiler == "stock":
            self._check_stock({**parameters, "dense": dense, **kwargs, "forbidden": tuple(kwargs.get("forbidden", ()))})
        self._compiler = compiler
        super().__init__(parameters=parameters, dense=dense, **kwargs)

    @abstractmethod
    def _new_stock_session(self) -> StockSession:
        """The untouched compiler that asks what the task declares."""

    def _new_session(self) -> Session:
        return self._new_stock_session() if self._compiler == "stock" else super()._new_session()

    def _check_stock(self, arguments: Mapping[str, Any]) -> None:
        """Nothing is asked for that a stock compiler does not know; its session may be shared."""
        for name, none in self.not_stock.items():
            if (value := arguments.get(name, none)) != none:
                raise TaskError(f"{name}={value!r}: a stock compiler knows none, expected compiler='plugin'")
        session = arguments.get("session")
        if session is not None and not isinstance(session, StockSession):
            raise TaskError(f"session={type(session).__name__}: compiler='stock' starts its own, expected compiler='plugin'")
