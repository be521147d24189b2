# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands and files of a tutorial, run in a folder of their own.

A block of ``sh`` is run, one with ``title="FILE"`` is written to that file first, and one of ``text`` is what the commands above it print, where
``...`` stands for anything, on a line of its own for any lines. A block below ``<!-- not run: REASON -->`` is for readers alone.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
BLOCK = re.compile(r'^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    title: str | None = None
    reason: str | None = None
    """Why it is not run."""


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    return [Block(found["language"], found["text"], found["title"], found["reason"]) for found in BLOCK.finditer(page)]


def follow(page: str, folder: Path, tiny: Mapping[str, str]) -> None:
    """Do what a page says, with some words of its commands replaced.

    Raises:
        AssertionError: a command fails or prints something else, or a word to replace is not on the page.
    """
    assert [words for words in tiny if words not in page] == []
    (folder / "examples").symlink_to(ROOT / "examples")
    printed = ""
    for block in (block for block in blocks(page) if not block.reason):
        if block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text)
        elif block.language == "sh":
            printed = run(replaced(block.text, tiny), folder)
        else:
            assert printed_as(block.text, printed), f"expected\n{block.text}\nprinted\n{printed}"


def replaced(commands: str, tiny: Mapping[str, str]) -> str:
    """Return commands with smaller budgets."""
    for words, instead in tiny.items():
        commands = commands.replace(words, instead)
    return commands


def run(commands: str, folder: Path) -> str:
    """Return what commands of a shell print, both streams in one."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    shell = ["bash", "-euo", "pipefail", "-c", f"exec 2>&1\n{commands}"]
    done = subprocess.run(shell, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment, timeout=900, check=False)
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


def printed_as(wanted: str, printed: str) -> bool:
    """Tell whether output is what a page shows; a line of dots stands for any number of lines, none among them."""
    lines = ("(?:.*\n)?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in wanted.splitlines())
    return re.fullmatch("".join(lines), printed, re.DOTALL) is not None
