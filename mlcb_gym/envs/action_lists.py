# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists of actions that are texts: those that ship, and files."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from mlcb_gym.errors import TaskError

Actions = str | Path | Sequence[str]


def read_actions(actions: Actions) -> list[str]:
    """Return the texts of an action space, given by the name of a list that ships, a text file with one a line, or themselves.

    Raises:
        TaskError: there is no such list, or the file is no text.
    """
    if not isinstance(actions, (str, Path)):
        return list(actions)
    shipped = Path(str(files("mlcb_gym").joinpath(f"data/actions/{actions}.txt")))
    path = shipped if shipped.exists() else Path(actions)
    try:
        lines = path.read_text().splitlines()
    except OSError:
        names = sorted(p.stem for p in shipped.parent.glob("*.txt"))
        raise TaskError(f"actions={str(actions)!r}: neither a file nor one of {', '.join(names)}") from None
    except UnicodeDecodeError as error:
        raise TaskError(f"actions={str(actions)!r}: no text in UTF-8, expected an action a line: {error}") from error
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
