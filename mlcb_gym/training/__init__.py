# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes, the training loop, and the searches that a policy is cloned from and compared with."""
