# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The docstring of an environment: what it shares with others is written once and filled in where the class is made."""

import re
from collections.abc import Mapping
from textwrap import indent

from mlcb_gym.envs.options import arguments_of
from mlcb_gym.session.request import Limits
from mlcb_gym.spec import TaskSpec, table

LIMITS = Limits()
ARGUMENTS = {
    "programs": ('``"embedded/train"``', "paths of .c, .cpp, .bc or .ll files, folders, or names of corpora"),
    "forbidden": ("()", "indices of actions that are never allowed"),
    "compiler": ('``"plugin"``', 'the worker of this package; or ``"stock"``, an untouched compiler'),
    "target": ("the module's", "``Target``: triple and CPU that code is generated for"),
    "limits": (
        "``Limits()``",
        f"CPU time of an episode ({LIMITS.cpu_seconds} s), wall-clock time of a turn ({LIMITS.turn_seconds:g} s), and memory "
        f"({LIMITS.memory_bytes >> 30} GiB)",
    ),
    "verify": ("False", "run LLVM's verifier after every action"),
    "session": (
        "None",
        "a session, or its URI: ``worker:``, ``pipe:``, ``shm:`` or ``grpc://HOST:PORT``, several workers by commas; by default a worker of its own",
    ),
    "metrics": ("()", "names of metrics that are measured beside those of the reward, as ``size``"),
    "sampling": (
        '``"uniform"``',
        'how programs are drawn: ``"size"``, in proportion to their bitcode; ``"improvement"``, to recent gains; '
        '``"curriculum"``, the smallest first',
    ),
    "render_mode": ("None", '``"ansi"``: ``render`` returns a line of text'),
}
"""Default and meaning of the arguments that several environments have."""


PASSAGES = {
    "imports": """
    >>> import gymnasium, mlcb_gym
    >>> from mlcb_gym.testing import ScriptedCompiler  # for tests; leave out session= for the real compiler
""",
    "first_version": """
    >>> env.close()

    ## Version History
    * v0: first version.
""",
}
"""Passages that every docstring may have."""


def filled(env: type, spec: TaskSpec, passages: Mapping[str, str]) -> str:
    """Return the docstring of an environment with everything in braces filled in.

    ``{observations}`` is a table of the spec's tensors, ``{arguments}`` the rows of those arguments that the docstring has no row of its own for,
    and ``{NAME}`` the passage of that name.
    """
    text = env.__doc__ or ""
    for name, passage in {**passages, **PASSAGES}.items():
        text = text.replace(f"{{{name}}}", passage.strip())
    text = text.replace("{observations}", indent(table(spec), "    ").strip())
    return text.replace("{arguments}", "\n    ".join(_rows(env, text)))


def _rows(env: type, text: str) -> list[str]:
    own = set(re.findall(r"\| ``(\w+)`` \|", text))
    if missing := [name for name in arguments_of(env) if name not in own and name not in ARGUMENTS]:
        raise TypeError(f"{env.__name__}: its docstring has no row for the argument {missing[0]}: expected its default and meaning")
    return [f"| ``{name}`` | {' | '.join(ARGUMENTS[name])} |" for name in arguments_of(env) if name not in own]
