# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code in a pickle."""

from pathlib import Path
from typing import Any


class Code:
    """Makes a file where it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)
