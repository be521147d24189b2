# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C++ programs whose values live across calls that throw, and are read by handlers and destructors."""

from random import Random

VARIABLES = 14
HEAD = """
#include <cstdio>
static unsigned seen;
__attribute__((noinline)) unsigned may(unsigned a, unsigned b) { if ((a ^ b) % 5 == 0) throw int(a % 1000 + b % 7); return a * 3 + b; }
struct Guard { unsigned &at; Guard(unsigned &at) : at(at) {} ~Guard() { seen = seen * 31 + at; at += 7; } };
"""


def throwing(seed: int, functions: int = 4) -> str:
    """Return a program that prints the same whatever the registers are."""
    draw = Random(seed)
    bodies = "".join(_function(draw, number) for number in range(functions))
    calls = "".join(f'  std::printf("%u\\n", f{number}({number * 3 + 1}u, {draw.randrange(99)}u));\n' for number in range(functions))
    return f'{HEAD}{bodies}int main() {{\n{calls}  std::printf("%u\\n", seen);\n}}\n'


def _function(draw: Random, number: int) -> str:
    made = "".join(f"  unsigned v{i} = a * {i + 1}u + b;\n" for i in range(VARIABLES))
    sum_ = " ^ ".join(f"v{i} * {2 * i + 1}u" for i in range(VARIABLES))
    body = "".join(_statement(draw, 3) for _ in range(6))
    return f"__attribute__((noinline)) unsigned f{number}(unsigned a, unsigned b) {{\n{made}{body}  return {sum_};\n}}\n"


def _statement(draw: Random, depth: int) -> str:
    def value() -> str:
        return f"v{draw.randrange(VARIABLES)}"

    def block() -> str:
        return "{ " + "".join(_statement(draw, depth - 1) for _ in range(draw.randint(1, 3))) + "}"

    def guarded() -> str:
        inside = f"{value()} += 1; {value()} = may({value()}, {value()}); {block()}"
        return f"try {{ {inside} }} catch (int e) {{ {value()} ^= e; {value()} += {value()}; }}\n"

    def destroyed() -> str:
        inside = f"Guard g({value()}); {block()} {value()} += may({value()}, {value()});"
        return f"try {{ {inside} }} catch (...) {{ {value()} += {value()} * 5; }}\n"

    def thrown_again() -> str:
        inside = f"try {block()} catch (int e) {{ {value()} -= e; throw; }}"
        return f"try {{ {inside} }} catch (int e) {{ {value()} += e + {value()}; }}\n"

    def repeated() -> str:
        return f"for (unsigned i = 0; i < {draw.randint(2, 9)}u; i++) {{ {value()} += i; {guarded()} }}\n"

    def computed() -> str:
        return f"{value()} = {value()} * {draw.randrange(1, 99)}u + {value()}; if ({value()} & 4) {value()} += {value()};\n"

    return draw.choice([computed, guarded, destroyed, thrown_again, repeated] if depth else [computed])()
