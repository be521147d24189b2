# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs and corpora: their names, their sources, and how the splits are made."""

from mlcb_gym.corpus.programs import Program, resolve

__all__ = ["Program", "resolve"]
