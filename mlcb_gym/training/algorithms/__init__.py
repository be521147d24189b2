# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The training algorithms, found by being here: one file for each, by its name, with its hyperparameters and its RLlib config."""
