# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The declarations that the class of a task's environment consists of, beside its constructor."""

from collections.abc import Mapping
from typing import Any, ClassVar

from mlcb_gym.envs.docstring import filled
from mlcb_gym.envs.record import TaskRecord
from mlcb_gym.spec import unbound


class TaskDeclaration:
    """The class attributes of an environment. A docstring with ``{observations}`` is filled in (see ``mlcb_gym.envs.docstring``)."""

    task: ClassVar[str]
    record: ClassVar[TaskRecord] = TaskRecord()
    """Facts about the task that the tools need beside its environment."""
    parameters: ClassVar[tuple[str, ...]] = ()
    """The arguments that the task is bound with: a policy plays in an environment made with the same ones."""
    heuristic: ClassVar[str | None] = None
    """The tensor with the answer of the compiler's own heuristic; None where there is none."""
    passages: ClassVar[Mapping[str, str]] = {}
    """Passages of the docstring that several tasks share, by the name that stands in braces for each."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Fills in the docstring, and the heuristic's tensor, from the declaration of the task in C++."""
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and "{observations}" in cls.__doc__:
            spec = unbound(cls.task)
            cls.__doc__ = filled(cls, spec, cls.passages)
            cls.heuristic = spec.agents[0].heuristic or cls.heuristic
