# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the compilers are: LLVM 22's own tools, and the plugin and worker that this package brings."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

from mlcb_gym import _native
from mlcb_gym.errors import ToolchainError

LLVM_MAJOR = 22


@cache
def tool(name: str) -> Path:
    """The path of LLVM 22's ``name`` (``clang``, ``opt``, ``llc``, ...), in the folder that ``MLCB_LLVM_BIN`` names if it is set.

    Raises:
        ToolchainError: it is not there, or of another LLVM.
    """
    chosen = os.environ.get("MLCB_LLVM_BIN")
    if chosen is not None:
        return _chosen(name, chosen)
    folder = f"/usr/lib/llvm-{LLVM_MAJOR}/bin"
    found = shutil.which(name, path=folder) or shutil.which(f"{name}-{LLVM_MAJOR}")
    if found is None:
        raise ToolchainError(
            f"{name} of LLVM {LLVM_MAJOR} not found in {folder} or as {name}-{LLVM_MAJOR} on PATH: "
            f"apt-get install clang-{LLVM_MAJOR} llvm-{LLVM_MAJOR}-dev, or set MLCB_LLVM_BIN"
        )
    return Path(found)


def _chosen(name: str, folder: str) -> Path:
    found = shutil.which(name, path=folder)
    said = _said_version(found) if found else ""
    if found is None or f"version {LLVM_MAJOR}." not in said:
        has = "that has none" if found is None else f"whose {name} is of {said.partition(chr(10))[0]!r}"
        raise ToolchainError(f"MLCB_LLVM_BIN is {folder!r}, {has}: expected a folder with {name} of LLVM {LLVM_MAJOR}")
    return Path(found)


@cache
def version() -> str:
    """The version of the LLVM that episodes run in, as ``"22.1.8"``.

    Raises:
        ToolchainError: there is no worker, or it does not start.
    """
    return version_of(worker())


def version_of(path: Path) -> str:
    """The version of LLVM that one of its tools, or the worker, says it is of.

    Raises:
        ToolchainError: it says none.
    """
    said = _said_version(path)
    found = re.search(r"version (\S+)", said)
    if found is None:
        raise ToolchainError(f"{path} --version says {said!r}, expected 'version' and a number")
    return found[1]


def _said_version(path: str | Path) -> str:
    return subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", timeout=60, check=False).stdout


def plugin() -> Path:
    """The LLVM plugin, for ``opt -load-pass-plugin`` and ``clang -fpass-plugin``."""
    return _installed("lib/libmlcb_llvm.so")


def worker() -> Path:
    """The fork server that runs episodes."""
    return _installed("bin/mlcb-worker")


VOCABULARIES = {"vocabulary": "ir2vec-300d.json", "machine-vocabulary": "mir-100d.json"}
"""The files that ship, of IR2Vec's vocabulary and that of machine instructions, by the names of the options ``-mlcb-NAME``."""


def vocabulary(name: str = "vocabulary") -> Path:
    """A vocabulary: the file in ``MLCB_VOCABULARY`` or ``MLCB_MACHINE_VOCABULARY``, or the one that ships."""
    chosen = os.environ.get(_variable(name))
    return Path(chosen) if chosen else Path(str(files("mlcb_gym").joinpath("data", VOCABULARIES[name])))


def vocabulary_digest(name: str = "vocabulary") -> str:
    """The digest of a vocabulary, by which tasks and policies name it."""
    return _native.digest(vocabulary(name).read_bytes())


def environment() -> dict[str, str]:
    """The environment of a compiler that we start: it finds the vocabularies wherever the package lies."""
    return {**os.environ, **{_variable(name): str(vocabulary(name)) for name in VOCABULARIES}}


def _variable(name: str) -> str:
    """The variable that names another file for a vocabulary, as the plugin reads it."""
    return f"MLCB_{name.replace('-', '_').upper()}"


@contextmanager
def starting(program: str | Path) -> Iterator[None]:
    """Name the program in the ``OSError`` of a process that cannot be made."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, error.filename or str(program)) from error


def _installed(relative: str) -> Path:
    path = Path(str(files("mlcb_gym").joinpath(relative)))
    if not path.exists():
        raise ToolchainError(f"mlcb_gym/{relative} not found: the package was built without LLVM {LLVM_MAJOR}; run `make setup`")
    return path
