# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One file an algorithm: its hyperparameters and its RLlib config."""
