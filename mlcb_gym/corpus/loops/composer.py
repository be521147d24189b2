# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop kernels composed at random, to be timed: usual statements, some of which read what others wrote, in loops of a thousand iterations.

The kernels of ``generator`` are for finding wrong code, and unlike what anybody writes; from these a policy learns.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from mlcb_gym.corpus.loops.kernels import Kernel


@dataclass(frozen=True)
class _Type:
    """Arrays of one element type, and the expression that keeps a sum of two of its values bounded."""

    arrays: tuple[str, ...]
    half: Callable[[str], str]


_FLOAT = _Type(("a", "b", "c", "d", "e"), "({}) * 0.5f".format)
_DOUBLE = _Type(("u", "v", "w"), "({}) * 0.5".format)
_WORD = _Type(("p", "q", "r"), "({}) ^ 21u".format)
_BYTE = _Type(("s", "t"), "(uint8_t)({})".format)
_TYPES, _SHARES = (_FLOAT, _DOUBLE, _WORD, _BYTE), (6, 2, 3, 1)
_MATRIX = _Type(("aa", "bb", "cc"), "({}) * 0.5f".format)


def compose(seed: int) -> Kernel:
    """Return the kernel of a seed, the same everywhere. Its values stay bounded."""
    draw = random.Random(f"compose {seed}")
    body = _Matrix(draw).body() if draw.random() < 0.15 else _Arrays(draw).body()
    pointers = draw.choice((("a", "b", "c"), ("d", "e", "a"), ("a", "a + 4", "b")))
    return Kernel(f"composed_{seed}", "composed", "train", body, pointers)


@dataclass
class _Arrays:
    """A loop over arrays."""

    draw: random.Random
    written: list[str] = field(default_factory=list)
    sums: list[str] = field(default_factory=list)

    def body(self) -> str:
        descends = self.draw.random() < 0.1
        self.behind = "i + 1" if descends else "i - 1"
        bound = self.draw.choices(("n - 8", "n / 2", "n / 4"), (6, 2, 1))[0]
        self.strides = {"n - 8": ("i",), "n / 2": ("i", "2 * i"), "n / 4": ("i", "2 * i", "4 * i + 1")}[bound]
        head = f"for (int i = {bound} - 1; i >= 8; i--) {{" if descends else f"for (int i = 8; i < {bound}; i++) {{"
        statements = [f"  {self.statement()}" for _ in range(self.draw.choices((2, 3, 4, 5), (4, 5, 3, 1))[0])]
        names = sorted(set(self.sums))
        result = [f"return {' + '.join(names)};"] if names else []
        return "\n".join([*(f"float {name} = 0;" for name in names), head, *statements, "}", *result]) + "\n"

    def statement(self) -> str:
        kinds = (self.map, self.scan, self.far_scan, self.stencil, self.gather, self.scatter, self.reduction, self.pointers)
        text = self.draw.choices(kinds, (9, 5, 1, 2, 1.5, 1.5, 1, 1))[0]()
        if self.draw.random() < 0.22:
            return f"if ({self.element(_FLOAT)} > 1.0f) {text}" if self.draw.random() < 0.7 else f"if ({self.element(_WORD)} & 1u) {text}"
        return text

    def map(self) -> str:
        of, target = self.target()
        stride = self.draw.choice(self.strides)
        operator = self.draw.choice(("+", "+", "-"))
        return f"{target}[{stride}] = {of.half(f'{self.element(of)} {operator} {self.element(of)}')};"

    def scan(self) -> str:
        of, target = self.target()
        return f"{target}[i] = {of.half(f'{target}[{self.behind}] + {self.element(of)}')};"

    def far_scan(self) -> str:
        of, target = self.target()
        return f"{target}[i] = {of.half(f'{target}[i - {self.draw.choice((2, 4, 8))}] + {self.element(of)}')};"

    def stencil(self) -> str:
        of, target = self.target()
        source = self.draw.choice(of.arrays)
        return f"{target}[i] = {of.half(f'{source}[i - 1] + {source}[i + 1]')};"

    def gather(self) -> str:
        of, target = self.target()
        return f"{target}[i] = {of.half(f'{self.draw.choice(of.arrays)}[ix[i]] + {self.element(of)}')};"

    def scatter(self) -> str:
        of, target = self.target()
        return f"{target}[{self.draw.choice(('once[i]', 'ix[i]'))}] = {self.element(of)};"

    def reduction(self) -> str:
        self.sums.append("total")
        return f"total = {_FLOAT.half(f'total + {self.element(_FLOAT)}')};"

    def pointers(self) -> str:
        target, source = self.draw.choices(("x", "y", "z"), k=2)
        return f"{target}[i] = {_FLOAT.half(f'{self.element(_FLOAT)} + {source}[i]')};"

    def target(self) -> tuple[_Type, str]:
        """Return an array that no other statement writes, most of the time."""
        of = self.draw.choices(_TYPES, _SHARES)[0]
        fresh = [array for array in of.arrays if array not in self.written]
        target = self.draw.choice(fresh if fresh and self.draw.random() < 0.9 else of.arrays)
        self.written.append(target)
        return of, target

    def element(self, of: _Type) -> str:
        """Return an element to read: every other time one that an earlier statement wrote, where there is one."""
        written = [array for array in self.written if array in of.arrays]
        array = self.draw.choice(written if written and self.draw.random() < 0.5 else of.arrays)
        stride = self.draw.choice(self.strides) if self.draw.random() < 0.5 else "i"
        offset = self.draw.choices(("", " - 1", " + 1", " + 4"), (12, 2, 1, 1))[0]
        return f"{array}[{stride}{offset}]"


@dataclass
class _Matrix:
    """Two loops over matrices."""

    draw: random.Random

    def body(self) -> str:
        heads = ["for (int j = 1; j < M - 1; j++)", "  for (int i = 1; i < M - 1; i++) {"]
        statements = [f"    {self.statement()}" for _ in range(self.draw.randint(2, 4))]
        return "\n".join([*heads, *statements, "  }"]) + "\n"

    def statement(self) -> str:
        target = self.draw.choice(_MATRIX.arrays)
        place = self.draw.choices(("[j][i]", "[i][j]"), (4, 1))[0]
        if self.draw.random() < 0.25:
            return f"{target}[j][i] = {_MATRIX.half(f'{target}[j][i - 1] + {self.element()}')};"
        if self.draw.random() < 0.2:
            return f"a[i] = {_FLOAT.half(f'a[i] + {self.element()}')};"
        return f"{target}{place} = {_MATRIX.half(f'{self.element()} + {self.element()}')};"

    def element(self) -> str:
        array = self.draw.choice(_MATRIX.arrays)
        place = self.draw.choices(("[j][i]", "[i][j]", "[j - 1][i]", "[j][i + 1]", "[i][i]"), (8, 2, 1, 1, 0.5))[0]
        return f"{array}{place}"
