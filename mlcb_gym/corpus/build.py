# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The corpus on disk: every module of the manifest compiled from its pinned source and checked against its digest."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from functools import cache
from hashlib import sha256
from pathlib import Path

from mlcb_gym import atomic
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.bitcode import UNOPTIMIZED
from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.sources import Source, collection, unpacked
from mlcb_gym.errors import ProgramError
from mlcb_gym.toolchain import tool

# Digests are promised for one target, whatever machine builds; SOURCE_DATE_EPOCH stills __DATE__.
_FLAGS = (*UNOPTIMIZED, "--target=x86_64-pc-linux-gnu", "-std=gnu17", "-DHAVE_CONFIG_H", "-include", ".mlcb/config.h", "-I.mlcb")
_ENVIRONMENT = {"SOURCE_DATE_EPOCH": "0"}

_FOREIGN = re.compile(
    r"(^|[/_.-])(tests?|testsuite|unittests?|examples?|samples?|demos?|fuzz\w*|oss-fuzz|bench\w*|docs?|debian|contrib|win\d*|windows"
    r"|msvc|vcnet|vs\d*|wince|cygwin|vms|amiga|amigaos|dos|msdos|os2|mac|macos|xcode|ios|darwin|solaris|aix|uefi|android|riscos|atari"
    r"|beos|haiku|minix|netware|plan9|freertos|arm\w*|aarch64|neon|mips|ppc|powerpc|riscv|s390x?|loongarch|sparc|avr|stm32|esp32)([/_.-]|$)",
    re.IGNORECASE,
)


def build(corpus: str, *, jobs: int = 2) -> Iterator[str]:
    """Compile what the manifest of ``corpus`` lists and is not there yet; yields a line per project.

    A module that does not compile, or whose bitcode has another digest, is a `ProgramError` naming it: results on
    other bitcode would be another corpus'.
    """
    wanted = defaultdict(list)
    for module in corpora.manifest(corpus):
        wanted[module.project].append(module)
    sources = [source for source in collection(corpus).sources if source.name in wanted]
    with ThreadPoolExecutor(jobs) as pool:
        compiled = pool.map(lambda source: _build_project(source, wanted[source.name]), sources)
        for source, count in zip(sources, compiled, strict=True):
            yield f"{source.name}: {count} compiled, {len(wanted[source.name])} in the corpus"


def candidates(tree: Path, source: Source) -> list[str]:
    """Return the C files of a source tree that may become modules: no tests, no other system's ports."""
    names = (file.relative_to(tree).as_posix() for file in tree.rglob("*.c"))
    return sorted(name for name in names if not _FOREIGN.search(name) and not any(fnmatch(name, skip) for skip in source.skip))


def compile_module(source: Source, tree: Path, name: str) -> bytes:
    """Return the bitcode of one file of a source tree. Paths are relative to the tree, so that none of the machine's stands in it."""
    command = (str(tool("clang")), *_FLAGS, *source.flags, *_include_flags(source, tree), name, "-o", "-")
    return run(command, subject=source.name, folder=tree, environment=_ENVIRONMENT)


def _build_project(source: Source, modules: Sequence[corpora.Module]) -> int:
    """Compile the modules that do not exist yet, and return their number."""
    missing = [module for module in modules if not _is_built(module)]
    if missing:
        with unpacked(source) as tree:
            for module in missing:
                _build_module(source, tree, module)
    return len(missing)


def _build_module(source: Source, tree: Path, module: corpora.Module) -> None:
    bitcode = compile_module(source, tree, module.source)
    digest = sha256(bitcode).hexdigest()
    if digest != module.sha256:
        raise ProgramError(f"{module.uri}: bitcode has digest {digest[:16]}, expected {module.sha256[:16]}: another clang or other system headers")
    atomic.write(module.path, bitcode)


def _is_built(module: corpora.Module) -> bool:
    return module.path.exists() and sha256(module.path.read_bytes()).hexdigest() == module.sha256


def _include_flags(source: Source, tree: Path) -> Sequence[str]:
    folders = _header_folders(tree) if source.include is None else source.include
    return [f"-I{folder}" for folder in folders]


@cache
def _header_folders(tree: Path) -> list[str]:
    # With the parents: headers are found as "x.h" and as "project/x.h".
    holders = {file.relative_to(tree).parent for file in tree.rglob("*.h")}
    folders = {parent.as_posix() for holder in holders for parent in (holder, holder.parent)} | {"."}
    return sorted((folder for folder in folders if not _FOREIGN.search(folder) and ".mlcb" not in folder), key=lambda name: (name.count("/"), name))
