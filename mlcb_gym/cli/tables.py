# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables about tasks: which there are, and what the agents of one observe."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from mlcb_gym import spec
from mlcb_gym.envs import env_class, environments
from mlcb_gym.policies import experimental, shipped
from mlcb_gym.session.server_status import servers

WIDTH = 150
"""The width of a table in a pipe or a file, where no terminal has a width."""


def wide_console() -> Console:
    """Return a console as wide as the terminal, or of ``WIDTH`` where there is none."""
    return Console(width=None if sys.stdout.isatty() else WIDTH)


def tasks_table() -> Table:
    """Return a row for each task: its environment, whether a policy ships, and what is decided."""
    table = Table("task", "environment", "shipped policy", "decision")
    for task, env_id in sorted(environments().items()):
        table.add_row(task, env_id, _policy_of(task), _first_line(env_class(task).__doc__))
    return table


def _policy_of(task: str) -> str:
    """Return the name of the policy that ships for a task, and whether it is experimental; nothing where none ships."""
    return f"{task} (experimental)" if task in experimental() else task if task in shipped() else ""


def servers_table() -> Table:
    """Return a row for each server of this user that runs on this machine."""
    table = Table("server", "process", "hours", "sessions", "of", "processes", "MiB", "refused calls")
    for server in servers():
        memory = f"{server.memory_bytes / 2**20:.0f}"
        cells = (server.pid, f"{server.hours:.2f}", server.sessions, server.workers, len(server.processes), memory, server.refused)
        table.add_row(f"grpc://{server.address}", *map(str, cells))
    return table


def tensors_table(task: str) -> Table:
    """Return a row for each tensor that an agent of a task observes."""
    bound = spec.unbound(task)
    table = Table("agent", "tensor", "dtype", "shape", "meaning", title=f"{task}: {bound.declared['doc']}", title_justify="left")
    table.caption, table.caption_justify = "* follows from the arguments of the environment", "left"
    for agent in bound.agents:
        for tensor in agent.inputs:
            table.add_row(agent.name, tensor.name, tensor.dtype, _shape(tensor.shape), tensor.doc)
    return table


def _shape(shape: Sequence[int]) -> str:
    """Return a shape as text; a length that is not known without arguments is a star."""
    return f"[{', '.join(str(length or '*') for length in shape)}]"


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().partition("\n")[0]
