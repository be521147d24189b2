# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The choice of a corpus' modules: candidates of the right size, split by project, no function in two splits."""

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mlcb_gym import atomic
from mlcb_gym.corpus import build, corpora
from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.sources import Collection, Source, collection, unpacked
from mlcb_gym.errors import ProgramError
from mlcb_gym.toolchain import tool

#: IR instructions of a module, unoptimised.
SIZES = range(300, 6001)
#: Bytes of a file that may hold so many, where only some files of a project are tried.
SOURCE_BYTES = range(3_000, 250_001)
#: Modules to spare beyond a project's cap: some are lost to repetition.
SPARE = 2
#: Functions under this many instructions may stand anywhere: accessors, wrappers, what headers bring.
TRIVIAL = 20

_LOCAL_NAMES = re.compile(r"@(\.?str|__const\.[\w.]+|switch\.table[\w.]*)[\w.]*|#\d+|![\w.]+( !\d+)?")


@dataclass(frozen=True)
class Candidate:
    """A module that compiled, and what the choice depends on."""

    source: Source
    file: str
    bitcode: bytes
    instructions: int
    functions: int
    bodies: frozenset[str]

    @property
    def name(self) -> str:
        return f"{self.source.name}-{self.file.removesuffix('.c').replace('/', '-')}"


def split(corpus: str, *, jobs: int = 2) -> Iterator[str]:
    """Choose the modules anew, write their bitcode and the manifest; yields a line per project and split."""
    chosen_from = collection(corpus)
    found: dict[str, list[Candidate]] = {name: [] for name in corpora.SPLITS}
    with ThreadPoolExecutor(jobs) as pool:
        for source, (fitting, failed) in zip(
            chosen_from.sources, pool.map(lambda source: _compile_project(source, chosen_from), chosen_from.sources), strict=True
        ):
            found[source.split] += fitting
            yield f"{source.name}: {len(fitting)} of {SIZES.start} to {SIZES.stop - 1} instructions, {failed} files do not compile and are skipped"
    chosen = choose(found, chosen_from.caps, _bodies_of_other_corpora(corpus))
    for name, modules in chosen.items():
        yield f"{name}: {len(modules)} modules of {len({module.source.name for module in modules})} projects"
    write(corpus, chosen)


def function_bodies(ir: str) -> list[list[str]]:
    """The instructions of each function of textual IR, without what differs between modules (metadata, numbers of attributes and strings)."""
    bodies: list[list[str]] = []
    for line in ir.splitlines():
        if line.startswith("define "):
            bodies.append([])
        elif bodies and line.startswith("  ") and line[2] not in " ]":
            bodies[-1].append(_LOCAL_NAMES.sub("", line))
    return bodies


def _compile_project(source: Source, chosen_from: Collection) -> tuple[list[Candidate], int]:
    """The modules of the right size, and how many files did not compile; of a part of the files where the collection says so."""
    with unpacked(source) as tree:
        files = build.candidates(tree, source)
        if chosen_from.tried is None:
            return _compile_files(source, tree, files, len(files))
        plausible = [file for file in files if (tree / file).stat().st_size in SOURCE_BYTES]
        sample = sorted(plausible, key=lambda file: sha256(file.encode()).digest())[: chosen_from.tried]
        return _compile_files(source, tree, sample, chosen_from.caps[source.split] + SPARE)


def _compile_files(source: Source, tree: Path, files: Sequence[str], enough: int) -> tuple[list[Candidate], int]:
    fitting: list[Candidate] = []
    failed = 0
    for file in files:
        candidate = _compile(source, tree, file)
        failed += candidate is None
        if candidate is not None and candidate.instructions in SIZES:
            fitting.append(candidate)
            if len(fitting) == enough:
                break
    return fitting, failed


def _compile(source: Source, tree: Path, file: str) -> Candidate | None:
    try:
        bitcode = build.compile_module(source, tree, file)
    except ProgramError:
        return None
    bodies = _disassembled(bitcode, f"{source.name}: {file}")
    return Candidate(source, file, bitcode, sum(map(len, bodies)), len(bodies), _digests(bodies))


def _disassembled(bitcode: bytes, subject: str) -> list[list[str]]:
    ir = run((tool("llvm-dis"), "-o", "-"), subject=subject, stdin=bitcode)
    return function_bodies(ir.decode(errors="replace"))


def _digests(bodies: list[list[str]]) -> frozenset[str]:
    return frozenset(sha256("\n".join(body).encode()).hexdigest() for body in bodies if len(body) >= TRIVIAL)


def _bodies_of_other_corpora(corpus: str) -> frozenset[str]:
    """Functions of the corpora before this one, which stand in no split of it: what is learnt on one may be judged on the other."""
    before = corpora.BUILT[: corpora.BUILT.index(corpus)]
    others = (module for other in before for module in corpora.modules(other))
    return frozenset().union(*(_digests(_disassembled(module.path.read_bytes(), module.uri)) for module in others))


def choose(found: dict[str, list[Candidate]], caps: dict[str, int], elsewhere: frozenset[str]) -> dict[str, list[Candidate]]:
    """Return the modules of each split, from test to train: a function that stands in two splits is lost to the training side."""
    chosen: dict[str, list[Candidate]] = {}
    taken = set(elsewhere)
    for name in reversed(corpora.SPLITS):
        chosen[name] = _choose_split(found[name], caps[name], frozenset(taken))
        taken.update(*(module.bodies for module in chosen[name]))
    return {name: chosen[name] for name in corpora.SPLITS}


def _choose_split(candidates: list[Candidate], cap: int, elsewhere: frozenset[str]) -> list[Candidate]:
    modules: list[Candidate] = []
    seen: set[str] = set()
    count: dict[str, int] = {}
    # An order by digest: no hand picks, and the same choice whatever the file system lists first.
    for candidate in sorted(candidates, key=lambda one: sha256(one.name.encode()).digest()):
        repeats = 2 * len(candidate.bodies & seen) > len(candidate.bodies)
        if repeats or candidate.bodies & elsewhere or count.get(candidate.source.name, 0) == cap:
            continue
        modules.append(candidate)
        seen |= candidate.bodies
        count[candidate.source.name] = count.get(candidate.source.name, 0) + 1
    return sorted(modules, key=lambda one: one.name)


def write(corpus: str, chosen: dict[str, list[Candidate]]) -> None:
    """Write the bitcode and the manifest of a corpus."""
    splits = {name: [_entry(module) for module in modules] for name, modules in chosen.items()}
    for name, modules in chosen.items():
        for module in modules:
            atomic.write(corpora.folder(corpus) / name / f"{module.name}.bc", module.bitcode)
    # One line a module, for readable differences.
    lines = (f'  "{name}": [\n' + ",\n".join(f"   {json.dumps(entry)}" for entry in entries) + "\n  ]" for name, entries in splits.items())
    atomic.write(corpora.manifest_file(corpus), '{"splits": {\n' + ",\n".join(lines) + "\n}}\n")
    corpora.manifest.cache_clear()


def _entry(module: Candidate) -> dict[str, str | int]:
    return {
        "name": module.name,
        "project": module.source.name,
        "source": module.file,
        "sha256": sha256(module.bitcode).hexdigest(),
        "instructions": module.instructions,
        "functions": module.functions,
    }
