# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seed embeddings: of LLVM IR's opcodes, types and operands, in the format of LLVM's IR2Vec, and of machine instructions, in one like it.

Entities are related by what stands beside what in real programs (an opcode has a type, or what it writes, has operands, is followed by an
opcode), and TransE (Bordes et al., NIPS 2013) finds vectors with head + relation = tail, as IR2Vec (TACO 2020) does.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcb_gym.corpus.command import run
from mlcb_gym.pipelines import O2, OZ
from mlcb_gym.toolchain import plugin, tool

if TYPE_CHECKING:
    from torch import Tensor

#: Head, tail, relation: numbers of `llvm-ir2vec entities`, or of the names of machine instructions; and 0 type, 1 next, 2... operands.
Triplet = tuple[int, int, int]

#: The same of machine instructions, by their names.
NamedTriplet = tuple[str, str, int]

_FIRST_TYPE, _FIRST_ARGUMENT = "FloatTy", "Function"
_NEXT = 1


@dataclass(frozen=True)
class TransE:
    """Hyperparameters of the vectors' training."""

    dimension: int = 300
    steps: int = 4000
    batch: int = 1024
    margin: float = 1.0
    learning_rate: float = 0.01
    #: Triplets are drawn by count to this power: `add` beside `i32` must not be all there is.
    flattening: float = 0.5
    seed: int = 0


def count_triplets(modules: Iterable[Path], *, jobs: int = 2) -> Counter[Triplet]:
    """Count each triplet in the modules, unoptimised and after -Oz (which makes phi and select)."""
    return _total(_count_module, modules, jobs)


def count_machine_triplets(modules: Iterable[Path], *, jobs: int = 2) -> Counter[NamedTriplet]:
    """Count each triplet in what code generation has of the modules before registers are allocated, after -O2."""
    return _total(_count_machine_code, modules, jobs)


def entities(module: Path) -> list[str]:
    """Return the keys of an LLVM vocabulary in LLVM's order."""
    lines = run((tool("llvm-ir2vec"), "entities", module), subject=str(module)).decode().splitlines()
    return [line.split("\t")[0] for line in lines if "\t" in line]


def frequent(counts: Counter[NamedTriplet], least: int) -> tuple[list[str], list[str], Counter[Triplet]]:
    """Return the opcodes and the kinds of operands that occur so often, by name, and the triplets of these as numbers: opcodes first."""
    seen: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for (head, tail, relation), count in counts.items():
        seen[0][head] += count * (relation == _NEXT)
        seen[relation != _NEXT][tail] += count
    opcodes, operands = (sorted(name for name, count in names.items() if count >= least) for names in seen)
    heads = {name: number for number, name in enumerate(opcodes)}
    tails = {name: number for number, name in enumerate(operands, start=len(opcodes))}
    numbered: Counter[Triplet] = Counter()
    for (head, tail, relation), count in counts.items():
        of_tail = heads if relation == _NEXT else tails
        if head in heads and tail in of_tail:
            numbered[heads[head], of_tail[tail], relation] += count
    return opcodes, operands, numbered


def fit(counts: Counter[Triplet], number: int, config: TransE) -> "Tensor":
    """Return the vectors of ``number`` entities, scaled so that the largest component is 1."""
    import torch

    # One thread: sums in one order are the same vectors every time, and the tensors are small.
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(config.seed)
    # Sorted: the order in which modules were read must not matter.
    triplets = torch.tensor(sorted(counts))
    weights = torch.tensor([float(counts[triplet]) for triplet in sorted(counts)]) ** config.flattening
    vectors = torch.nn.functional.normalize(torch.randn(number, config.dimension, generator=generator)).requires_grad_()
    relations = (0.1 * torch.randn(int(triplets[:, 2].max()) + 1, config.dimension, generator=generator)).requires_grad_()
    optimizer = torch.optim.Adam([vectors, relations], lr=config.learning_rate)
    for _ in range(config.steps):
        head, tail, relation = triplets[torch.multinomial(weights, config.batch, replacement=True, generator=generator)].unbind(1)
        other = torch.randint(number, (config.batch,), generator=generator)
        corrupt_head = torch.rand(config.batch, generator=generator) < 0.5
        true = _distance(vectors, relations, head, tail, relation)
        false = _distance(vectors, relations, torch.where(corrupt_head, other, head), torch.where(corrupt_head, tail, other), relation)
        loss = torch.relu(config.margin + true - false).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            # On the sphere: else all distances grow and the margin means nothing.
            vectors.copy_(torch.nn.functional.normalize(vectors))
    return vectors.detach() / vectors.detach().abs().max()


def ir_sections(names: Sequence[str]) -> dict[str, int]:
    """Return where the three sections of an LLVM vocabulary begin among its names."""
    return {"Opcodes": 0, "Types": names.index(_FIRST_TYPE), "Arguments": names.index(_FIRST_ARGUMENT)}


def as_json(sections: Mapping[str, int], names: Sequence[str], vectors: "Tensor") -> str:
    """Return a vocabulary as LLVM reads it, a vector a line.

    Args:
        sections: the number of the first name of each.
    """
    ends = [*list(sections.values())[1:], len(names)]
    written = []
    for (section, start), end in zip(sections.items(), ends, strict=True):
        lines = (f"{json.dumps(names[key])}: [{','.join(f'{value:.4g}' for value in vectors[key].tolist())}]" for key in range(start, end))
        written.append(f'"{section}": {{\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(written) + "\n}\n"


def _distance(vectors: "Tensor", relations: "Tensor", head: "Tensor", tail: "Tensor", relation: "Tensor") -> "Tensor":
    from torch.nn.functional import embedding

    distance: Tensor = (embedding(head, vectors) + embedding(relation, relations) - embedding(tail, vectors)).norm(dim=1)
    return distance


def _total(count: Callable[[Path], Counter[Any]], modules: Iterable[Path], jobs: int) -> Counter[Any]:
    total: Counter[Any] = Counter()
    with ThreadPoolExecutor(jobs) as pool:
        for counts in pool.map(count, modules):
            total += counts
    return total


def _count_machine_code(module: Path) -> Counter[NamedTriplet]:
    optimized = run((tool("opt"), f"-passes={O2}", module, "-o", "-"), subject=str(module))
    allocator = (f"-load={plugin()}", "-regalloc=mlcb", "-mlcb-machine-triplets=-")
    triplets = run((tool("llc"), *allocator, "-O2", "-filetype=null", "-", "-o", "-"), subject=str(module), stdin=optimized)
    lines = (line.split("\t") for line in triplets.decode().splitlines())
    return Counter((head, tail, int(relation)) for head, tail, relation in lines)


def _count_module(module: Path) -> Counter[Triplet]:
    plain = module.read_bytes()
    optimized = run((tool("opt"), f"-passes={OZ}", "-", "-o", "-"), subject=str(module), stdin=plain)
    triplets = (run((tool("llvm-ir2vec"), "triplets", "-"), subject=str(module), stdin=bitcode) for bitcode in (plain, optimized))
    return sum(map(_parse, triplets), start=Counter())


def _parse(triplets: bytes) -> Counter[Triplet]:
    lines = (line.split("\t") for line in triplets.decode().splitlines() if "\t" in line)
    return Counter((int(head), int(tail), int(relation)) for head, tail, relation in lines)
