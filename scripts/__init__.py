# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What maintainers run: set-up, lint, records, and declarations derived from LLVM."""
