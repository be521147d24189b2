# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a checkpoint to a policy folder that a compiler reads, and the check that both decide alike."""
