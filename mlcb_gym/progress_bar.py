# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bar of a terminal beside work that takes long."""

import sys
from collections.abc import Iterable
from typing import Any, TypeVar

from rich.progress import track

ItemT = TypeVar("ItemT")


def progress_bar(items: Iterable[ItemT], **options: Any) -> Iterable[ItemT]:
    """Return the items, with a bar where stdout is a terminal, which is gone at the end; ``options`` are those of ``rich.progress.track``."""
    return track(items, transient=True, disable=not sys.stdout.isatty(), **options)
