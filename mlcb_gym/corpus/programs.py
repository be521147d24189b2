# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the name of programs (a file, a folder, a corpus) to bitcode files, in a fixed order."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from mlcb_gym.corpus import bitcode, corpora, mlgo
from mlcb_gym.corpus.program import Program, ProgramsLike
from mlcb_gym.corpus.registry import CORPORA, corpus_of
from mlcb_gym.errors import ProgramError

__all__ = ["Program", "ProgramsLike", "resolve", "validation_of"]


def resolve(uri: ProgramsLike) -> tuple[Program, ...]:
    """Return the programs of a name.

    A corpus (``"embedded"``, ``"loops"``), one split of it (``"embedded/train"``), one program of that (``"embedded/train/fft"``), composed
    kernels by number (``"loops/composed/0-99"``), a file (``.c``, ``.cpp``, ``.bc``, ``.ll``), a folder (every such file in it, sorted; with a
    ``corpus_description.json``, as MLGO's tools write it, the modules listed there), or a sequence of these, in which a program that is named more
    than once stands in the first place alone. Sources are compiled once and cached.
    ``compile_flags.txt`` beside a source, or above it in the folder, has the flags that it needs, one a line (see ``compile_flags``).
    In a folder, each sub-folder is a project; a description names them itself under ``"projects"``, an object with the project of each module.

    Raises:
        ProgramError: a program is missing or does not compile, or there is none.
    """
    if isinstance(uri, str | Path | Program):
        return _resolve_one(uri)
    found: dict[str, tuple[str, Program]] = {}
    for one in uri:
        for program in _resolve_one(one):
            found.setdefault(_place(program), (_folder(one), program))
    if not found:
        raise ProgramError("no program named, expected at least one")
    return _apart(list(found.values()))


def _place(program: Program) -> str:
    """Return what two programs have in common that are one: the name in a corpus, or the path of the file."""
    return program.uri if corpus_of(program.uri) else str(Path(program.uri).resolve())


def _apart(found: Sequence[tuple[str, Program]]) -> tuple[Program, ...]:
    """Return programs that stand behind the folder that each is of; those that share a name, or a project's, with one of another folder are told
    apart by their paths.
    """
    names = Counter(program.name for _, program in found)
    folders: defaultdict[str, set[str]] = defaultdict(set)
    for folder, program in found:
        folders[program.project].add(folder)
    return tuple(
        replace(
            program,
            name=program.uri if names[program.name] > 1 else program.name,
            project=f"{folder}: {program.project}" if folder and len(folders[program.project]) > 1 else program.project,
        )
        for folder, program in found
    )


def _folder(uri: str | Path | Program) -> str:
    """Return the folder that programs are of; nothing for those of a corpus."""
    if isinstance(uri, Program) or (isinstance(uri, str) and corpus_of(uri)):
        return ""
    path = Path(uri).resolve()
    return str(path if path.is_dir() else path.parent)


def validation_of(programs: Sequence[str]) -> list[str]:
    """Return the validation splits of the corpora that programs are of; of other programs, that of the corpus that ships."""
    named = (corpus.name if (corpus := corpus_of(uri)) else corpora.EMBEDDED for uri in programs)
    return list(dict.fromkeys(f"{corpus}/validation" for corpus in named))


def _resolve_one(uri: str | Path | Program) -> tuple[Program, ...]:
    if isinstance(uri, Program):
        return (uri,)
    if isinstance(uri, str) and (corpus := corpus_of(uri)):
        return tuple(corpus.programs(uri))
    if not str(uri):
        raise ProgramError("'' names no program, expected a file, a folder, or a corpus")
    path = Path(uri)
    if mlgo.is_described(path):
        return tuple(Program.of(name, _uri(file), file, project or _project(path, name)) for name, file, project in mlgo.described(path))
    if path.is_dir():
        return tuple(_of_file(file, path) for file in _files(path))
    if not path.exists():
        raise ProgramError(f"{uri}: no such program, expected a file, a folder, or a corpus ({', '.join(CORPORA)})")
    return (_of_file(path, path.parent),)


def _files(folder: Path) -> Iterable[Path]:
    files = sorted(file for file in folder.rglob("*") if file.suffix in bitcode.SUFFIXES and file.is_file())
    if not files:
        raise ProgramError(f"{folder}: no program in this folder, expected {' '.join(bitcode.SUFFIXES)}")
    return files


def _of_file(path: Path, root: Path) -> Program:
    name = path.relative_to(root).as_posix()
    return Program.of(name, _uri(path), bitcode.bitcode(path, root), _project(root, name), root)


def _uri(path: Path) -> str:
    """Return what names a file and no corpus, as ``loops/a.c`` does in a folder that has one."""
    return str(path) if corpus_of(str(path)) is None else str(path.absolute())


def _project(root: Path, name: str) -> str:
    """Return the project of a program: the folder, and the first sub-folder on the way to it."""
    first, *below = Path(name).parts
    return f"{root.resolve().name}/{first}" if below else root.resolve().name
