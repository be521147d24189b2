# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bitcode of named programs that a wheel brings, so that they need no compiler; an editable install has none and compiles them."""

from importlib.resources import files
from pathlib import Path

CORPORA = ("embedded", "loops")
"""The corpora whose programs a wheel brings."""


def shipped(uri: str) -> Path | None:
    """Return the bitcode of one program, as ``embedded/train/fft``; None where it does not ship."""
    path = Path(str(files("mlcb_gym.corpus").joinpath("shipped", f"{uri}.bc")))
    return path if path.exists() else None
