# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""First weights learnt from known outcomes or from the compiler's own heuristic."""
