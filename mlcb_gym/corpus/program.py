# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program: one module that can be compiled."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """One module that can be compiled.

    ``name`` is the same on every machine; ``uri`` resolves to this program alone; ``digest`` is the SHA-256 of the bitcode; ``root`` is the folder
    that a source file was found in, up to which its flags are looked for.
    """

    name: str
    uri: str
    bitcode: Path
    project: str
    digest: str
    root: Path | None = None

    @classmethod
    def of(cls, name: str, uri: str, bitcode: Path, project: str, root: Path | None = None) -> "Program":
        """Return a program with the digest of its bitcode."""
        return cls(name, uri, bitcode, project, sha256(bitcode.read_bytes()).hexdigest(), root)


ProgramsLike = str | Path | Program | Sequence[str | Path | Program]
"""The name of programs: a file, a folder, a corpus or a part of it, programs themselves, or a sequence of these."""
