# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies against what does not learn: metrics of modules, run times, linked programs."""
