# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attacks upon what `docs/security.md` promises: kills, connections, and episodes without end; `make check-attacks` measures what they cost."""
