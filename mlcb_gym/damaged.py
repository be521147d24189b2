# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that this package wrote and reads again: a truncated or damaged one is an error of one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlcb_gym.errors import MlcbError

DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""The exceptions of a JSON parser, and of what takes its values, where a part is missing or wrong."""


@contextmanager
def reading(path: Path, error: type[MlcbError], what: str, *, by: str, damage: tuple[type[Exception], ...] = DAMAGE) -> Iterator[None]:
    """Raise whatever a damaged file leads to as an ``error`` of one line.

    Args:
        what: what the file holds, as ``"sweep"``.
        by: what wrote it, as ``"`mlcb sweep`"``.
        damage: what its parser raises.

    Raises:
        MlcbError: the block raised one of ``damage``; it is an ``error``.
    """
    try:
        yield
    except damage as why:
        said = str(why).partition("\n")[0]
        raise error(f"{path}: a damaged {what}, expected one as {by} wrote it: {type(why).__name__}: {said}") from why
