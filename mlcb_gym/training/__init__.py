# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes, algorithms, and the training loop."""
