# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which modules a corpus holds: candidates of the right size, split by project, no function in two splits."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mlcb_gym.corpus import build, corpora
from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.sources import Source, sources, unpacked
from mlcb_gym.errors import ProgramError
from mlcb_gym.toolchain import tool

#: IR instructions of a module, unoptimised.
SIZES = range(300, 6001)
#: Modules of one project at most, so that none dominates.
CAPS = {"train": 40, "validation": 12, "test": 12}
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
    found: dict[str, list[Candidate]] = {name: [] for name in corpora.SPLITS}
    for source in sources(corpus):
        compiled, failed = _compile_all(source, jobs)
        found[source.split] += [candidate for candidate in compiled if candidate.instructions in SIZES]
        yield f"{source.name}: {len(compiled)} compiled, {failed} did not and are skipped"
    chosen = _choose(found)
    for name, modules in chosen.items():
        yield f"{name}: {len(modules)} modules of {len({module.source.name for module in modules})} projects"
    _write(corpus, chosen)


def function_bodies(ir: str) -> list[list[str]]:
    """The instructions of each function of textual IR, without what differs between modules (metadata, numbers of attributes and strings)."""
    bodies: list[list[str]] = []
    for line in ir.splitlines():
        if line.startswith("define "):
            bodies.append([])
        elif bodies and line.startswith("  ") and line[2] not in " ]":
            bodies[-1].append(_LOCAL_NAMES.sub("", line))
    return bodies


def _compile_all(source: Source, jobs: int) -> tuple[list[Candidate], int]:
    with unpacked(source) as tree, ThreadPoolExecutor(jobs) as pool:
        files = build.candidates(tree, source)
        results = list(pool.map(lambda file: _compile(source, tree, file), files))
    compiled = [result for result in results if result is not None]
    return compiled, len(results) - len(compiled)


def _compile(source: Source, tree: Path, file: str) -> Candidate | None:
    try:
        bitcode = build.compile_module(source, tree, file)
    except ProgramError:
        return None
    ir = run((tool("llvm-dis"), "-o", "-"), subject=f"{source.name}: {file}", stdin=bitcode)
    bodies = function_bodies(ir.decode(errors="replace"))
    digests = frozenset(sha256("\n".join(body).encode()).hexdigest() for body in bodies if len(body) >= TRIVIAL)
    return Candidate(source, file, bitcode, sum(map(len, bodies)), len(bodies), digests)


def _choose(found: dict[str, list[Candidate]]) -> dict[str, list[Candidate]]:
    # From test to train: what stands in two splits is lost to the training side.
    chosen: dict[str, list[Candidate]] = {}
    taken: set[str] = set()
    for name in reversed(corpora.SPLITS):
        chosen[name] = _choose_split(found[name], CAPS[name], frozenset(taken))
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


def _write(corpus: str, chosen: dict[str, list[Candidate]]) -> None:
    splits = {name: [_entry(module) for module in modules] for name, modules in chosen.items()}
    for name, modules in chosen.items():
        for module in modules:
            build.write_module(corpora.folder(corpus) / name / f"{module.name}.bc", module.bitcode)
    # One line a module, for readable differences.
    lines = (f'  "{name}": [\n' + ",\n".join(f"   {json.dumps(entry)}" for entry in entries) + "\n  ]" for name, entries in splits.items())
    corpora.manifest_file(corpus).write_text('{"splits": {\n' + ",\n".join(lines) + "\n}}\n")
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
