# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the environments of LLVM's own advisors share: two compilers that ask, and a reward against what LLVM itself decides."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mlcb_gym.envs.compiler_env import CompilerEnv, Metrics
from mlcb_gym.errors import TaskError
from mlcb_gym.session import Session, StockSession, Target

COMPILERS = ("plugin", "stock")


def default_of(metric: str) -> str:
    """The metric that tells what LLVM's own heuristic comes to in another."""
    return f"{metric}_default"


class AdvisorEnv(CompilerEnv):
    """An episode of a compiler whose own heuristic is the baseline, and which may be an untouched one.

    Args:
        rewards: what is measured for each reward; the reward is about the first.
        reward: which of them.
        compiler: "plugin", our worker, or "stock", which knows none of ``dense``, ``barred``, ``verify`` and ``target``.
        kwargs: see ``CompilerEnv``.

    Raises:
        TaskError: a reward or a compiler that is none, or what a stock compiler does not know.
    """

    not_stock: ClassVar[Mapping[str, Any]] = {"dense": False, "barred": (), "verify": False, "target": Target()}
    """What only our worker knows, and what asks for nothing."""

    def __init__(
        self,
        *,
        rewards: Mapping[str, Sequence[str]],
        reward: str,
        parameters: Mapping[str, Any],
        dense: bool,
        compiler: str,
        **kwargs: Any,
    ) -> None:
        if compiler not in COMPILERS:
            raise TaskError(f"compiler={compiler!r}: expected one of {', '.join(COMPILERS)}")
        if compiler == "stock":
            self._check_stock({**parameters, "dense": dense, **kwargs, "barred": tuple(kwargs.get("barred", ()))})
        self._compiler = compiler
        if reward not in rewards:
            raise TaskError(f"reward={reward!r}: expected one of {', '.join(rewards)}")
        self._measure = next(iter(rewards[reward]), None)
        metrics = [*rewards[reward], *map(default_of, rewards[reward])]
        super().__init__(parameters=parameters, metrics=metrics, dense=dense, **kwargs)

    @abstractmethod
    def _new_stock_session(self) -> StockSession:
        """The untouched compiler that asks what the task declares."""

    def _new_session(self) -> Session:
        return self._new_stock_session() if self._compiler == "stock" else super()._new_session()

    @property
    def judged(self) -> tuple[str, str] | None:
        """What the reward is about."""
        return (self._measure, default_of(self._measure)) if self._measure else None

    def reward(self, before: Metrics, after: Metrics) -> float:
        """See Rewards."""
        if self._measure is None:
            return 0.0
        return (before[self._measure] - after[self._measure]) / (after[default_of(self._measure)] or 1.0)

    def measured_at_start(self, final: Metrics) -> Metrics:
        """What LLVM's own heuristic makes of the program: that is what an episode is compared with."""
        return {self._measure: final[default_of(self._measure)]} if self._measure else {}

    def _earned(self, before: Metrics, ended: bool) -> float:
        if self._dense and self._steps == 1:
            before = self.measured_at_start(self._metrics)
        return super()._earned(before, ended)

    def _check_stock(self, arguments: Mapping[str, Any]) -> None:
        """Nothing is asked for that a stock compiler does not know; its session may be shared."""
        for name, none in self.not_stock.items():
            if (value := arguments.get(name, none)) != none:
                raise TaskError(f"{name}={value!r}: a stock compiler knows none, expected compiler='plugin'")
        session = arguments.get("session")
        if session is not None and not isinstance(session, StockSession):
            raise TaskError(f"session={type(session).__name__}: compiler='stock' starts its own, expected compiler='plugin'")
