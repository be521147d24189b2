# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The versions and digests that a run was made with, beside its recipe and its environment: a run with the same gives the same policy."""

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mlcb_gym import __version__, toolchain

DIGESTS = ("programs", "validation", "files")
"""The names of digests."""
PACKAGES = ("gymnasium", "numpy", "ray", "torch")


def provenance(programs: Sequence[Any], validation: Sequence[Any], files: Sequence[str]) -> dict[str, str]:
    """Return the versions of all that a policy depends on, and digests of the programs and of files that are learnt from, by name."""
    versions = {"mlcb_gym": __version__, "python": platform.python_version(), "llvm": toolchain.version()}
    packages = {name: version(name) for name in PACKAGES}
    learnt = {"files": _digest(map(_content, files))} if files else {}
    return versions | packages | {"programs": _digest(programs), "validation": _digest(validation)} | learnt


def differences(saved: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yield what a run was made with otherwise."""
    for name, value in saved.items():
        if value != now.get(name):
            yield f"{name} was {value}, is {now.get(name, 'missing')}"


def _content(file: str) -> str:
    """Return the digest of a file; empty where there is none any more."""
    path = Path(file)
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _digest(programs: Iterable[Any]) -> str:
    whole = sha256()
    for program in programs:
        whole.update(str(getattr(program, "digest", program)).encode())
    return whole.hexdigest()[:16]
