# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One file per task, and what they share."""
