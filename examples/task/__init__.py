# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A task of one's own: which functions are optimized for the smallest size."""

import mlcb_gym

mlcb_gym.register("SizeAttributes-v0", "examples.task.size_attributes:SizeAttributes")
