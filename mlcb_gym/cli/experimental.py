# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The line of a command that uses policies which do not beat their baseline."""

import sys
from collections.abc import Iterable
from pathlib import Path

from mlcb_gym.policies import experimental


def mention_experimental(policies: Iterable[Path]) -> None:
    """Print one line to stderr that names the experimental ones among some policies, if there are any."""
    used = {policy.resolve() for policy in policies}
    names = [name for name, folder in experimental().items() if folder.resolve() in used]
    if names:
        print(f"mlcb: {', '.join(names)}: experimental: no better than the best baseline that learns nothing (see the card)", file=sys.stderr)
