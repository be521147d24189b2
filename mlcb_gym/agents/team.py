# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks of agents that take turns, trained and kept as one."""

from torch import nn


class Team(nn.ModuleDict):
    """A network for each agent by its name, in the order in which the task declares them."""
