# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The outcomes that decisions lead to: beam search, counterfactuals, exhaustive search, and fixed sequences."""
