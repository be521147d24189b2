# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Manifests of the corpora: the modules of each split, and the files of the programs that ship."""

import json
import os
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from platformdirs import user_data_path

from mlcb_gym.errors import ProgramError

EMBEDDED = "embedded"
"""The corpus that ships in the package."""
BUILT = ("default", "debian")
"""The corpora built on the user's machine from pinned sources."""
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Module:
    """One line of a manifest: a module of a corpus, its size, and the digest that its bitcode must have."""

    corpus: str
    split: str
    name: str
    project: str
    source: str
    sha256: str
    instructions: int
    functions: int

    @property
    def uri(self) -> str:
        """The name of this module alone, for `resolve`."""
        return f"{self.corpus}/{self.split}/{self.name}"

    @property
    def path(self) -> Path:
        """The file of the bitcode, once built."""
        return folder(self.corpus) / self.split / f"{self.name}.bc"


def folder(corpus: str) -> Path:
    """Return the folder of a built corpus' bitcode: in the user's data folder, or in ``MLCB_DATA``."""
    data = os.environ.get("MLCB_DATA")
    return (Path(data) if data else user_data_path("mlcb_gym")) / "corpus" / corpus


def modules(uri: str) -> tuple[Module, ...]:
    """Return the modules of a corpus, a split, or the one module that ``uri`` names; the error of a missing one says how to build it."""
    corpus, *rest = uri.strip("/").split("/", 2)
    found = tuple(module for module in manifest(corpus) if [module.split, module.name][: len(rest)] == rest)
    if not found:
        raise unknown_program(uri, corpus)
    if not all(module.path.exists() for module in found):
        raise ProgramError(f"{uri}: not built yet, run `mlcb corpus build {corpus}`")
    return found


def embedded(uri: str) -> tuple[Path, ...]:
    """Return the C files of the embedded corpus, one split, or the one program that ``uri`` names; sorted within train, validation, test."""
    _, split, name = (*uri.strip("/").split("/", 2), "*", "*")[:3]
    root = Path(str(files("mlcb_gym.corpus").joinpath("embedded")))
    found = tuple(file for one in SPLITS if split in (one, "*") for file in sorted(root.glob(f"{one}/{name}.c")))
    if not found:
        raise unknown_program(uri, "embedded")
    return found


@cache
def manifest(corpus: str) -> tuple[Module, ...]:
    """Return the modules of a built corpus, in their fixed order; none where there is no manifest yet."""
    file = manifest_file(corpus)
    if not file.exists():
        return ()
    splits: dict[str, list[dict[str, str | int]]] = json.loads(file.read_text())["splits"]
    return tuple(Module(corpus=corpus, split=split, **entry) for split in SPLITS for entry in splits.get(split, ()))  # type: ignore[arg-type]


def manifest_file(corpus: str) -> Path:
    """Return the file with the committed list of a built corpus' modules."""
    return Path(str(files("mlcb_gym.corpus").joinpath(f"collections/{corpus}.json")))


def unknown_program(uri: str, corpus: str) -> ProgramError:
    """Return the error of a program that a corpus does not hold."""
    return ProgramError(f"{uri}: no such program, expected {corpus}, {corpus}/SPLIT ({', '.join(SPLITS)}) or {corpus}/SPLIT/NAME")
