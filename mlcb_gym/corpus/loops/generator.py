# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop kernels generated at random, for finding wrong code: statements of drawn order, types, strides and distances."""

import random

from mlcb_gym.corpus.loops.kernels import Kernel

_FLOATS, _INTEGERS = ("a", "b", "c", "d", "e"), ("p", "q", "r")
_POINTERS = ("x", "y", "z")
_TARGETS = ("a", "a + 1", "a + 4", "b", "c", "c + 2")


def generate(seed: int) -> Kernel:
    """Return the kernel of a seed, the same everywhere. Its values stay bounded, so that no bit depends on the order of operations."""
    draw = random.Random(seed)
    floats = _FLOATS + _POINTERS if draw.random() < 0.4 else _FLOATS
    statements = [_statement(draw, floats) for _ in range(draw.randint(2, 6))]
    total = draw.random() < 0.3
    lines = [*(["float total = 0;"] if total else []), _head(draw)]
    lines += [f"  {statement}" for statement in statements]
    lines += [f"  total = (total + {_element(draw, floats)}) * 0.5f;"] if total else []
    lines += ["}", *(["return total;"] if total else [])]
    x, y, z = (draw.choice(_TARGETS) for _ in range(3))
    return Kernel(f"generated_{seed}", "generated", "train", "\n".join(lines) + "\n", (x, y, z))


def _head(draw: random.Random) -> str:
    return draw.choice(("for (int i = 4; i < n / 4; i++) {", "for (int i = n / 4 - 1; i >= 4; i--) {", "for (int i = 4; i < 12; i++) {"))


def _statement(draw: random.Random, floats: tuple[str, ...]) -> str:
    if draw.random() < 0.25:
        assignment = f"{_element(draw, _INTEGERS)} = {_element(draw, _INTEGERS)} * 3u + {_element(draw, _INTEGERS)};"
    else:
        assignment = f"{_element(draw, floats)} = ({_element(draw, floats)} + {_element(draw, floats)}) * 0.5f;"
    if draw.random() < 0.25:
        return f"if ({_element(draw, floats)} > 1.0f) {assignment}"
    return assignment


def _element(draw: random.Random, arrays: tuple[str, ...]) -> str:
    array = draw.choice(arrays)
    stride = draw.choices(("i", "2 * i", "3 * i", "n / 2 - i", "ix[i]", "0"), (12, 2, 1, 1, 1, 1))[0]
    offset = draw.choices((0, -1, 1, -2, 2, 4), (8, 3, 3, 1, 1, 1))[0] if stride not in ("ix[i]", "0") else 0
    return f"{array}[{stride}{f' {offset:+}' if offset else ''}]"
