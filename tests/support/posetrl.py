# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tiny program, one that grows without end, and the actions that tests take on them."""

from contextlib import closing
from pathlib import Path
from typing import Any

from mlcb_gym.envs.posetrl import PosetRLEnv
from mlcb_gym.session import Session

ACTIONS = ["function(mem2reg)", "function(instcombine,simplifycfg)", "default<Oz>", "{inline-threshold=0} default<Oz> ; iroutliner", "stop"]
SOURCE = """
static int square(int x) { return x * x; }
int sum(int n) {
  int total = 0;
  for (int i = 0; i < n; i++)
    total += square(i) + i % 3;
  return total;
}
"""
#: Inlines without restraint.
ENDLESS = "{inline-threshold=1000000000} cgscc(inline)"
#: What that makes 2^40 calls of, for which nothing has the time or the memory.
BOMB = "int f0(int x) { return x + 1; }\n" + "".join(f"int f{i}(int x) {{ return f{i - 1}(x) + f{i - 1}(x + 1); }}\n" for i in range(1, 40))


def begins(session: Session, program: Path | str, **arguments: Any) -> bool:
    """Whether an episode begins, in which sizes are measured."""
    with closing(PosetRLEnv(programs=program, actions=ACTIONS, reward="size", session=session, **arguments)) as env:
        return bool(env.reset(seed=1))
