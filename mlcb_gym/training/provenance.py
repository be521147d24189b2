# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a run was made with, beside what its recipe and its environment say: a run with the same gives the same policy."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from mlcb_gym import __version__, toolchain

PACKAGES = ("gymnasium", "numpy", "ray", "torch")


def provenance(programs: Sequence[Any], validation: Sequence[Any]) -> dict[str, str]:
    """Return the versions of all that a policy depends on, and digests of the programs, by name."""
    versions = {"mlcb_gym": __version__, "python": platform.python_version(), "llvm": toolchain.version()}
    packages = {name: version(name) for name in PACKAGES}
    return versions | packages | {"programs": _digest(programs), "validation": _digest(validation)}


def differences(saved: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yield what a run was made with otherwise."""
    for name, value in saved.items():
        if value != now.get(name):
            yield f"{name} was {value}, is {now.get(name, 'missing')}"


def _digest(programs: Sequence[Any]) -> str:
    whole = sha256()
    for program in programs:
        whole.update(str(getattr(program, "digest", program)).encode())
    return whole.hexdigest()[:16]
