# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The corpora that have names: what each split holds, by committed manifests, and where the bitcode lies."""

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
        """What `resolve` takes for this module alone."""
        return f"{self.corpus}/{self.split}/{self.name}"

    @property
    def path(self) -> Path:
        """Where the bitcode is, or will be once built."""
        return folder(self.corpus) / self.split / f"{self.name}.bc"


def folder(corpus: str) -> Path:
    """Where the bitcode of a built corpus lies: in the user's data folder; ``MLCB_DATA`` moves it."""
    data = os.environ.get("MLCB_DATA")
    return (Path(data) if data else user_data_path("mlcb_gym")) / "corpus" / corpus


def modules(uri: str) -> tuple[Module, ...]:
    """The modules of a corpus, a split, or the one module that ``uri`` names; one that is not there is an error how to get it."""
    corpus, *rest = uri.strip("/").split("/", 2)
    found = tuple(module for module in manifest(corpus) if [module.split, module.name][: len(rest)] == rest)
    if not found:
        raise unknown_program(uri, corpus)
    for module in found:
        if not module.path.exists():
            raise ProgramError(f"{module.uri}: not built yet, run `mlcb corpus build {corpus}`")
    return found


def embedded(uri: str) -> tuple[Path, ...]:
    """The C files of the embedded corpus, one split, or the one program that ``uri`` names; sorted within train, validation, test."""
    _, split, name = (*uri.strip("/").split("/", 2), "*", "*")[:3]
    root = Path(str(files("mlcb_gym.corpus").joinpath("embedded")))
    found = tuple(file for one in SPLITS if split in (one, "*") for file in sorted(root.glob(f"{one}/{name}.c")))
    if not found:
        raise unknown_program(uri, "embedded")
    return found


@cache
def manifest(corpus: str) -> tuple[Module, ...]:
    """What a built corpus holds, in its fixed order; nothing where there is no manifest yet."""
    file = manifest_file(corpus)
    if not file.exists():
        return ()
    splits: dict[str, list[dict[str, str | int]]] = json.loads(file.read_text())["splits"]
    return tuple(Module(corpus=corpus, split=split, **entry) for split in SPLITS for entry in splits.get(split, ()))  # type: ignore[arg-type]


def manifest_file(corpus: str) -> Path:
    """The committed list of a built corpus' modules."""
    return Path(str(files("mlcb_gym.corpus").joinpath(f"collections/{corpus}.json")))


def unknown_program(uri: str, corpus: str) -> ProgramError:
    """The error of what a corpus does not hold."""
    return ProgramError(f"{uri}: no such program, expected {corpus}, {corpus}/SPLIT ({', '.join(SPLITS)}) or {corpus}/SPLIT/NAME")
