# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that somebody else may have made: regular ones of a bounded size are read, and nothing else is waited for."""

import os
from errno import EFBIG, EINVAL
from pathlib import Path
from stat import S_ISREG

MOST = (2 << 30) - 1
"""Bytes of a file, as in ``native/spec/FileContents.h``."""


def read_regular(path: Path) -> bytes:
    """Return the contents of a file.

    Raises:
        OSError: it cannot be read, is no regular file (of a FIFO nothing is read), or has more than ``MOST`` bytes.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode):
            raise OSError(EINVAL, "no regular file, expected one", str(path))
        if status.st_size > MOST:
            raise OSError(EFBIG, f"{status.st_size} bytes, expected at most {MOST}", str(path))
        return file.read(status.st_size)
