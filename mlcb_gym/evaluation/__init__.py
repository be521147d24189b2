# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluations of policies: metrics of modules, run times, sizes of linked programs."""
