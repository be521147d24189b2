# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complete programs to start from."""
