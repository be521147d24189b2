# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Learners of other libraries: each trains a policy by a script of its own and exports it for the compiler."""
