# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes and all that they have started."""

import psutil


def family(pid: int) -> list[psutil.Process]:
    """Return a process and all below it, whoever has started them; empty where it has ended."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
