# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Metrics of a module as it is given, by the worker alone: no tool of LLVM's is needed."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from mlcb_gym import toolchain
from mlcb_gym.errors import CompilerError
from mlcb_gym.session import ModuleMeasure

WITHOUT_FUNCTION = "no function has a body"
"""The worker's reason to refuse such a module, as ``native/llvm/worker/ModuleCache.cpp`` has it."""


def module_measure() -> ModuleMeasure:
    """Return a measure of modules. Before its first decision, phase ordering has every metric of the module that it was given."""
    return ModuleMeasure("posetrl", {"actions": ["stop"], "vocabulary": toolchain.vocabulary_digest()})


def empty_modules(modules: Iterable[Path]) -> set[Path]:
    """Return those of some files that are bitcode without a function; one worker reads them all."""
    with closing(module_measure()) as measure:
        return {module for module in modules if _is_empty(module, measure)}


def _is_empty(module: Path, measure: ModuleMeasure) -> bool:
    try:
        measure(module, ())
    except CompilerError as refused:
        return WITHOUT_FUNCTION in str(refused)
    return False
