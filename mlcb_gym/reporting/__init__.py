# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages about trainings, sweeps and evaluations."""
