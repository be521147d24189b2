# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ``mlcb`` command, a file per group."""
