# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every figure that docs/benchmarks.md states, measured by `make bench`: ratios of what was timed in one run."""
