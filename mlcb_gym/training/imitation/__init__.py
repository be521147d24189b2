# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imitation learning of first weights: from decisions with known outcomes, or from the compiler's own heuristic."""
