# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Episodes of single functions: of sources that are written for a test, and of programs that are run afterwards."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from mlcb_gym.envs.function_size import FunctionSizeEnv
from mlcb_gym.session.plugin import PluginSession
from mlcb_gym.spec import MASK
from tests.support.known_output import compile_, run

Choose = Callable[[np.ndarray], int]
"""From the mask of a function to an action."""

MUTUAL = """
#include <stdio.h>
__attribute__((noinline)) static unsigned odd(unsigned n, unsigned long s);
__attribute__((noinline)) static unsigned even(unsigned n, unsigned long s) { return n ? odd(n - 1, s * 3 + n) : (unsigned)s; }
__attribute__((noinline)) static unsigned odd(unsigned n, unsigned long s) { return n ? even(n - 1, s * 5 + n) : (unsigned)~s; }
int main(void) { printf("%u\\n", even(10000000, 1)); }
"""


ASSUMED = """
#include <stdio.h>
__attribute__((noinline)) static int *odd(int *p, unsigned n);
__attribute__((noinline)) static int *even(int *p, unsigned n) {
  if (!n) return p;
  int *r = odd(p + 1, n - 1);
  __builtin_assume(r != 0);
  return r;
}
__attribute__((noinline)) static int *odd(int *p, unsigned n) {
  if (!n) return p;
  int *r = even(p - 1, n - 1);
  __builtin_assume(r != 0);
  return r;
}
int main(int argc, char **argv) { printf("%d\\n", even(&argc, 10000000) == &argc); }
"""

LIST = """
#include <stdio.h>
#include <stdlib.h>
typedef struct Node { struct Node *next; unsigned value; } Node;
%s
int main(void) {
  unsigned count = 4000000;
  Node *nodes = calloc(count, sizeof *nodes);
  for (unsigned i = 0; i < count; ++i) nodes[i] = (Node){i + 1 < count ? &nodes[i + 1] : NULL, i * 7 + 1};
  printf("%%u\\n", walk(nodes));
}
"""
SUBTRACTED = LIST % "__attribute__((noinline)) unsigned walk(Node *p) { if (!p) return 0; return walk(p->next) - 1; }"
STRUCTS = (
    LIST
    % """
typedef struct { unsigned a, b, c, d; } Sums;
__attribute__((noinline)) static Sums second(Node *p, Sums s);
__attribute__((noinline)) static Sums first(Node *p, Sums s) { if (!p) return s; s.a += p->value; s.b ^= s.a; s.c--; return second(p->next, s); }
__attribute__((noinline)) static Sums second(Node *p, Sums s) { if (!p) return s; s.a -= p->value; s.d += 3; return first(p->next, s); }
static unsigned walk(Node *p) { Sums s = first(p, (Sums){1, 2, 3, 4}); return s.a ^ s.b ^ s.c ^ s.d; }
"""
)

TAIL_CALLS = {"plain": MUTUAL, "assumed": ASSUMED, "subtracted": SUBTRACTED, "structs": STRUCTS}
"""Programs of millions of calls that become jumps and loops, which overflow a stack that grows."""


def unoptimized(source: str, folder: Path, *flags: str) -> Path:
    """The module of a C source as ``-Oz`` begins with it, but that no function is inlined."""
    (folder / "source.c").write_text(source)
    compile_(folder / "source.c", "-Oz", "-Xclang", "-disable-llvm-passes", "-fno-inline", "-c", "-emit-llvm", *flags, output=folder / "program.bc")
    return folder / "program.bc"


def allowed(env: FunctionSizeEnv) -> list[set[str]]:
    """The actions that each function is asked about with."""
    env.reset()
    found, ended = [], False
    while not ended:
        found.append({env.actions[i] for i in np.flatnonzero(env.observation[MASK])})
        *_, ended, _, _ = env.step(0)
    return found


def at_random(seed: int) -> Choose:
    rng = np.random.default_rng(seed)
    return lambda mask: int(rng.choice(np.flatnonzero(mask)))


def play(env: FunctionSizeEnv, choose: Choose) -> None:
    env.reset()
    ended = False
    while not ended:
        *_, ended, truncated, info = env.step(choose(env.observation[MASK]))
        assert "error" not in info
        assert not truncated


def outputs(made: type[FunctionSizeEnv], source: Path, folder: Path, choose: Choose, *, episodes: int, flags: tuple[str, ...] = ()) -> set[str]:
    """Return the outputs of the program after each of several episodes; one that fails to run prints its exit status."""
    module, changed = folder / "program.bc", folder / "changed.bc"
    compile_(source, "-Oz", "-Xclang", "-disable-llvm-passes", "-c", "-emit-llvm", *flags, output=module)
    printed = set()
    with (
        closing(PluginSession(keep=changed)) as session,
        closing(made(programs=module, reward="none", session=session)) as env,
    ):
        for _ in range(episodes):
            play(env, choose)
            compile_(changed, "-Oz", "-Xclang", "-disable-llvm-passes", output=folder / "program")
            printed.add(run(folder / "program") or "nothing")
    return printed
