# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of processes of ours."""

import resource
from contextlib import suppress


def lower(pid: int, kind: int, soft: int, hard: int) -> None:
    """Lower a limit of a process; what is lower already stays, for raising it is not allowed to everybody. One that has ended has no limits.

    Args:
        kind: as ``resource.RLIMIT_AS``, in whose units the limits are.
    """
    with suppress(ProcessLookupError):
        own = resource.prlimit(pid, kind)
        least = [most if now == resource.RLIM_INFINITY else min(most, now) for most, now in zip((soft, hard), own, strict=True)]
        resource.prlimit(pid, kind, (least[0], least[1]))
