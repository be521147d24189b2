# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command on a kernel without Landlock, as those before 5.13 are: ``python -m tests.support.older_kernel COMMAND...``."""

import ctypes
import errno
import os
import struct
import sys

CREATE_RULESET = 444
"""landlock_create_ruleset, on all machines."""

LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
SET_NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2


def forget_landlock() -> None:
    """Has the system call answer that there is none, in this process and those that it starts."""
    steps = [(LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, CREATE_RULESET), (RETURN, 0, 0, FAIL | errno.ENOSYS), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(SET_SECCOMP, FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    forget_landlock()
    os.execvp(sys.argv[1], sys.argv[1:])
