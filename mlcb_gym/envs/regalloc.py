# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the environments of the register allocator share: what they measure, and which compilers they have."""

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from mlcb_gym import _native
from mlcb_gym.envs.functions import COST, FunctionEpisodes
from mlcb_gym.envs.record import Action, FeatureKind, Observation, ReferencePolicy, TaskRecord
from mlcb_gym.envs.relative import default_of
from mlcb_gym.errors import TaskError
from mlcb_gym.session import StockSession
from mlcb_gym.session.objects import object_metrics

METRICS: dict[str, tuple[str, ...]] = {
    "cost": ("cost", "text"),
    "cost_guarded": ("cost_guarded", "cost", "text"),
    "text": ("text", "size"),
    "throughput": ("throughput", "cost"),
    "none": (),
}
"""What is measured for each reward; the reward is about the first."""

NOT_STOCK_REWARDS = ("cost", "cost_guarded", "throughput")
"""What an object file does not tell."""

EPISODES = ("module", "function")

LLC = ("-O2", "-filetype=obj", "-relocation-model=pic")
"""What an untouched ``llc`` is called with, beside its advisor: it runs no pipeline before."""

HEAVIEST = 1e30
"""The weight of what must not be spilled, which LLVM has as infinity."""


def record(network: Literal["columns", "value"], **reference_policies: Callable[[Observation], Action]) -> TaskRecord:
    """Return the record of a task of the register allocator. Costs are compared with those of LLVM's own advisor; with the guard each function
    has the lower of both."""
    return TaskRecord(
        recipe="es",
        network=network,
        features={"progress": FeatureKind.FRACTION, "weight": FeatureKind.WEIGHT},
        evaluation={"reward": "cost_guarded"},
        columns={"cost": (COST, default_of(COST)), "text": ("text", default_of("text"))},
        guarded=("cost_guarded", default_of(COST)),
        baseline="greedy",
        reference_policies={name.replace("_", " "): ReferencePolicy(choose=choose) for name, choose in reference_policies.items()},
    )


class RegAllocEnv(FunctionEpisodes):
    """An episode of LLVM's greedy register allocator.

    Args:
        pipeline: what is run before code generation.
        reward: by default "cost", and "text" of a stock compiler.
        optsize: whether functions keep ``minsize`` and ``optsize``.
        episode: "module", or "function" (see ``FunctionEpisodes``).
        compiler: "plugin" or "stock".
        kwargs: see ``AdvisorEnv``.
    """

    parameters = ("pipeline", "optsize", "told")
    advisor: ClassVar[Sequence[str]]
    """What makes an untouched compiler ask."""

    def __init__(
        self,
        *,
        programs: Any = "embedded/train",
        pipeline: str = "default<O2>",
        reward: str | None = None,
        optsize: bool | None = None,
        told: int | None = None,
        dense: bool = False,
        episode: str = EPISODES[0],
        compiler: str = "plugin",
        **kwargs: Any,
    ) -> None:
        stock = compiler == "stock"
        reward = reward or ("text" if stock else "cost")
        if stock and reward in NOT_STOCK_REWARDS:
            raise TaskError(f"reward={reward!r}: a stock compiler does not tell it, expected text or none, or compiler='plugin'")
        if dense and reward not in ("cost", "none"):
            raise TaskError(f"dense=True: {reward} is paid at the end alone, expected reward='cost'")
        if stock and (optsize is False or told):
            raise TaskError("a stock compiler keeps minsize and optsize, and does not tell its own answer: expected optsize=True, told=0")
        if episode not in EPISODES:
            raise TaskError(f"episode={episode!r}: expected one of {', '.join(EPISODES)}")
        if episode == "function" and (reward != COST or dense):
            raise TaskError(f"episode='function': reward={reward!r}, dense={dense}: expected reward='cost', which is known when it has its registers")
        parameters = {
            "pipeline": pipeline,
            "optsize": stock if optsize is None else optsize,
            "told": int(not stock) if told is None else told,
        }
        self._pipeline = pipeline
        super().__init__(
            per_function=episode == "function",
            rewards=METRICS,
            reward=reward,
            parameters=parameters,
            dense=dense,
            compiler=compiler,
            programs=programs,
            **kwargs,
        )

    def _new_stock_session(self) -> StockSession:
        tool, arguments = stock_command(self._pipeline)
        return StockSession(tool, arguments, advisor=self.advisor, measure=object_metrics)

    def _observe(self, message: _native.Message) -> None:
        """Of ranges that must not be spilled, an untouched compiler says infinity, and infinity by infinity."""
        super()._observe(message)
        if self._compiler != "stock":
            return  # the pass has made numbers of them, and this takes as long as the question
        for name, value in self._observation.items():
            if value.dtype == np.float32:
                self._observation[name] = np.nan_to_num(value, nan=1.0, posinf=HEAVIEST)


def stock_command(pipeline: str) -> tuple[str, tuple[str, ...]]:
    """The untouched compiler that runs a pipeline before it allocates, and its command line.

    Raises:
        TaskError: there is none.
    """
    if not pipeline:
        return "llc", LLC
    level = re.fullmatch(r"default<(O[123sz])>", pipeline)
    if level is None:
        raise TaskError(f"pipeline={pipeline!r}: a stock compiler runs its own, expected default<O1>, O2, O3, Os or Oz, or '' for llc")
    return "clang", (f"-{level[1]}", "-c", "-w")
