# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes played: by a network, the compiler's heuristic, a script, or an exported policy."""
