# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sub-sequences of LLVM's own -Oz, by the Oz dependence graph of POSET-RL (ISPASS 2022)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from mlcb_gym.corpus.command import run
from mlcb_gym.toolchain import tool

#: Not optimizations: analyses, checks, remarks, and lowering of what a C or C++ module at -Oz does not hold.
_IDLE = ("require", "invalidate", "verify", "annotation", "coro-", "memprof-", "ee-instrument", "transform-warning", "cg-profile", "alloc-token")

#: What `simplifycfg` does when it is not told: LLVM prints it all, which makes a pipeline three times as long.
_SIMPLIFYCFG_DEFAULTS = frozenset(
    [
        "bonus-inst-threshold=1",
        "no-forward-switch-cond",
        "no-switch-range-to-icmp",
        "no-switch-to-arithmetic",
        "no-switch-to-lookup",
        "keep-loops",
        "no-hoist-common-insts",
        "no-hoist-loads-stores-with-cond-faulting",
        "no-sink-common-insts",
        "speculate-blocks",
        "simplify-cond-branch",
        "no-speculate-unpredictables",
    ]
)

_ADAPTORS = {"cgscc": "cgscc({})", "function": "function({})", "loop": "function(loop({}))", "loop-mssa": "function(loop-mssa({}))"}


@dataclass(frozen=True)
class Pass:
    """One pass of a pipeline: its text with parameters, and the innermost adaptor it runs in ("" for a module pass)."""

    text: str
    adaptor: str

    @property
    def name(self) -> str:
        """The pass, whatever its parameters."""
        return self.text.split("<")[0]


def without(pipeline: str, names: frozenset[str]) -> str:
    """Return a pipeline text without the passes of these names, nesting and parameters kept; default parameters are not spelt out."""
    elements = []
    for element in _split(pipeline):
        name, inner = _opened(element)
        rest = None if inner is None else without(inner, names)
        if rest:
            elements.append(f"{name}({rest})")
        elif rest is None and name.split("<")[0] not in names:
            elements.append(_shortened(name))
    return ",".join(elements)


def expand(pipeline: str) -> str:
    """Return the expanded text of a pipeline, with all its passes."""
    command = (tool("opt"), f"-passes={pipeline}", "-print-pipeline-passes", "-disable-output", "-")
    return run(command, subject=pipeline).decode().strip().removesuffix(",verify")


def passes(pipeline: str, adaptor: str = "") -> Iterator[Pass]:
    """Return the passes of a pipeline text in order, adaptors opened up."""
    for element in _split(pipeline):
        name, inner = _opened(element)
        if inner is None:
            if not name.startswith(_IDLE):
                yield Pass(_shortened(name), adaptor)
        else:
            outer = name.split("<")[0]
            # devirt<4>(...) repeats what is in it; in pieces that is up to the policy.
            yield from passes(inner, adaptor if outer == "devirt" else outer)


def subsequences(sequence: Iterator[Pass], critical: int) -> list[str]:
    """The distinct walks that the pipeline takes from one critical pass up to, not including, the next, as pipeline texts.

    A pass is critical when it has at least ``critical`` neighbours in the graph whose edges join consecutive passes.
    """
    ordered = list(sequence)
    neighbours: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for before, after in pairwise(ordered):
        neighbours[before.name].add(("after", after.name))
        neighbours[after.name].add(("before", before.name))
    walks: list[list[Pass]] = [[]]
    for one in ordered:
        if len(neighbours[one.name]) >= critical:
            walks.append([])
        walks[-1].append(one)
    return list(dict.fromkeys(pipeline_text(walk) for walk in walks if walk))


def pipeline_text(sequence: Sequence[Pass]) -> str:
    """Return the pipeline of these passes, neighbours of one kind under one adaptor."""
    groups = groupby(sequence, key=lambda one: one.adaptor)
    return ",".join(_ADAPTORS.get(adaptor, "{}").format(",".join(one.text for one in group)) for adaptor, group in groups)


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]


def _shortened(text: str) -> str:
    name, _, parameters = text.partition("<")
    if name != "simplifycfg":
        return text
    told = [parameter for parameter in parameters.rstrip(">").split(";") if parameter not in _SIMPLIFYCFG_DEFAULTS]
    return f"{name}<{';'.join(told)}>" if told else name


def _opened(element: str) -> tuple[str, str | None]:
    """``"function<eager-inv>(a,b)"`` as ``("function<eager-inv>", "a,b")``; a plain pass has no inside."""
    head, bracket, inner = element.partition("(")
    return (head, inner[:-1]) if bracket else (element, None)
