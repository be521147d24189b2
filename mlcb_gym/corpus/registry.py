# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The corpora by name: each with a function from a URI to its programs, and one from a program to its source."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mlcb_gym.corpus import bitcode, corpora
from mlcb_gym.corpus.loops import kernels
from mlcb_gym.corpus.loops.named import named
from mlcb_gym.corpus.program import Program
from mlcb_gym.corpus.shipped import shipped
from mlcb_gym.errors import ProgramError


def bitcode_of(program: Program, folder: Path) -> Path:
    """Return the bitcode, of a program whose source is not kept."""
    return program.bitcode


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Programs that have a name.

    Args:
        name: the first part of the URI of its programs: ``name``, ``name/SPLIT`` or ``name/SPLIT/PROGRAM``.
        programs: from a URI to its programs, in a fixed order; raises a ProgramError where there is none.
        source: from a program to the file that a user would compile; a folder holds it where it is written for that.
        splits: the names of its splits.
        times_itself: whether its programs print the seconds of a run, behind a space, where they get a number of groups of runs.
    """

    name: str
    programs: Callable[[str], Iterator[Program]]
    source: Callable[[Program, Path], Path] = bitcode_of
    splits: tuple[str, ...] = corpora.SPLITS
    times_itself: bool = False


def _embedded(uri: str) -> Iterator[Program]:
    return map(_embedded_program, corpora.embedded(uri))


@cache
def _embedded_program(source: Path) -> Program:
    uri = f"{corpora.EMBEDDED}/{source.parent.name}/{source.stem}"
    return Program.of(uri, uri, shipped(uri) or bitcode.bitcode(source), source.stem)


def _embedded_source(program: Program, folder: Path) -> Path:
    return corpora.embedded(program.uri)[0]


def _kernels(uri: str) -> Iterator[Program]:
    for kernel in named(uri):
        yield Program.of(kernel.uri, kernel.uri, shipped(kernel.uri) or _compiled(kernel), kernel.category)


def _compiled(kernel: kernels.Kernel) -> Path:
    return bitcode.bitcode_of_text(kernels.source([kernel]), kernel.name, headers=kernels.source([]))


def _kernel_source(program: Program, folder: Path) -> Path:
    path = folder / "kernel.c"
    path.write_text(kernels.source(named(program.uri)))
    return path


def _built(uri: str) -> Iterator[Program]:
    for module in corpora.modules(uri):
        program = Program.of(module.uri, module.uri, module.path, module.project)
        if program.digest != module.sha256:
            raise ProgramError(f"{module.uri}: built from another manifest, run `mlcb corpus build {module.corpus}`")
        yield program


CORPORA: dict[str, Corpus] = {}


def register(corpus: Corpus) -> None:
    """Register a corpus by its name."""
    CORPORA[corpus.name] = corpus


register(Corpus(name=corpora.EMBEDDED, programs=_embedded, source=_embedded_source))
register(Corpus(name=kernels.LOOPS, programs=_kernels, source=_kernel_source, times_itself=True))
for built in corpora.BUILT:
    register(Corpus(name=built, programs=_built))


def corpus_of(uri: str) -> Corpus | None:
    """Return the corpus that a URI is of; None of a path (``./default`` is one)."""
    return CORPORA.get(uri.split("/")[0])


def source_of(program: Program, folder: Path) -> Path:
    """Return the file that a user would compile: the source, where there is one, else the bitcode.

    Args:
        folder: holds a source that is written for this.
    """
    corpus = corpus_of(program.uri)
    return Path(program.uri) if corpus is None else corpus.source(program, folder)
