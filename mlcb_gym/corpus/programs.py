# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the name of programs (a file, a folder, a corpus) to bitcode files, in a fixed order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mlcb_gym.corpus import bitcode, corpora, kernels, mlgo
from mlcb_gym.errors import ProgramError


@dataclass(frozen=True)
class Program:
    """One module that can be compiled.

    ``name`` is the same on every machine; ``uri`` resolves to this program alone; ``digest`` is the SHA-256 of the bitcode.
    """

    name: str
    uri: str
    bitcode: Path
    project: str
    digest: str


ProgramsLike = str | Path | Program | Sequence[str | Path | Program]
"""What names programs."""


def resolve(uri: ProgramsLike) -> tuple[Program, ...]:
    """The programs that ``uri`` names.

    A corpus (``"embedded"``, ``"loops"``), one split of it (``"embedded/train"``), one program of that (``"embedded/train/crc32"``), kernels
    without end by number (``"loops/composed/0-99"``), a file (``.c``, ``.cpp``, ``.bc``, ``.ll``), a folder (every such file in it, sorted; with
    a ``corpus_description.json``, as MLGO's tools write it, what that lists), or a sequence of these. Sources are compiled once
    and cached. Whatever is missing, empty or does not compile is a `ProgramError`.
    """
    if isinstance(uri, str | Path | Program):
        return _resolve_one(uri)
    programs = tuple(program for one in uri for program in _resolve_one(one))
    if not programs:
        raise ProgramError("no program named, expected at least one")
    return programs


def _resolve_one(uri: str | Path | Program) -> tuple[Program, ...]:
    if isinstance(uri, Program):
        return (uri,)
    if isinstance(uri, str) and corpora.is_corpus(uri):
        return tuple(_of_module(module) for module in corpora.modules(uri))
    if isinstance(uri, str) and corpora.is_embedded(uri):
        return tuple(_of_source(file) for file in corpora.embedded(uri))
    if isinstance(uri, str) and kernels.is_loops(uri):
        return tuple(_of_kernel(kernel) for kernel in kernels.named(uri))
    path = Path(uri)
    if mlgo.is_described(path):
        return tuple(_of_described(name, file, path) for name, file in mlgo.described(path))
    if path.is_dir():
        return tuple(_of_file(file, path) for file in _files(path))
    if not path.exists():
        names = ", ".join(("embedded", kernels.LOOPS, *corpora.BUILT))
        raise ProgramError(f"{uri}: no such program, expected a file, a folder, or a corpus ({names})")
    return (_of_file(path, path.parent),)


def _files(folder: Path) -> Iterable[Path]:
    files = sorted(file for file in folder.rglob("*") if file.suffix in bitcode.SUFFIXES and file.is_file())
    if not files:
        raise ProgramError(f"{folder}: no program in this folder, expected {' '.join(bitcode.SUFFIXES)}")
    return files


def _of_file(path: Path, root: Path) -> Program:
    compiled = bitcode.bitcode(path)
    name = path.relative_to(root).as_posix()
    return Program(name, str(path), compiled, root.resolve().name, sha256(compiled.read_bytes()).hexdigest())


def _of_described(name: str, path: Path, root: Path) -> Program:
    return Program(name, str(path), path, root.resolve().name, sha256(path.read_bytes()).hexdigest())


def _of_source(source: Path) -> Program:
    shipped = source.with_suffix(".bc")
    compiled = shipped if shipped.exists() else bitcode.bitcode(source)
    name = f"embedded/{source.parent.name}/{source.stem}"
    return Program(name, name, compiled, source.stem, sha256(compiled.read_bytes()).hexdigest())


def _of_kernel(kernel: kernels.Kernel) -> Program:
    compiled = bitcode.bitcode_of_text(kernels.source([kernel]), kernel.name)
    return Program(kernel.uri, kernel.uri, compiled, kernel.category, sha256(compiled.read_bytes()).hexdigest())


def _of_module(module: corpora.Module) -> Program:
    return Program(module.uri, module.uri, module.path, module.project, module.sha256)


def validation_of(programs: Sequence[str]) -> list[str]:
    """Return the validation splits of the corpora that programs are of; of other programs, that of the corpus that ships."""
    named = [uri.split("/")[0] if corpora.is_corpus(uri) or kernels.is_loops(uri) else "embedded" for uri in programs]
    return list(dict.fromkeys(f"{corpus}/validation" for corpus in named))
