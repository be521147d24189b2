# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop kernels compiled by clang, split as somebody says."""

import re
import subprocess
from pathlib import Path

from mlcb_gym import toolchain
from tests.support.known_output import compile_, run

STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-DN=256")
SUMS = """
extern float a[], b[], c[], d[], e[];
float sums(int n) {
  float sum = 0;
  for (int i = 1; i < 100; i++) {
    a[i] = b[i] * 2;
    c[i] = c[i - 1] + a[i];
    if (d[i] > 1)
      e[2 * i] = 3;
    sum += d[i];
  }
  return sum;
}
"""
SPLIT = re.compile(r"loop of (\d+) nodes: (\d+) parts, (\d+) checks")


def splitting(answer: str) -> tuple[str, ...]:
    return (f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-loops={answer}")


def sums(folder: Path, text: str, *flags: str) -> list[str]:
    """What each kernel of a program prints."""
    (folder / "kernels.c").write_text(text)
    compile_(folder / "kernels.c", *STRICT, *flags, output=folder / "kernels")
    return run(folder / "kernels").splitlines()


def remarks(folder: Path, text: str, *flags: str) -> str:
    """What the pass says of the loops of a file under -O1."""
    (folder / "loops.c").write_text(text)
    command: list[str | Path] = [
        toolchain.tool("clang"),
        "-w",
        "-O1",
        "-c",
        "-Rpass=mlcb-loop",
        "-Rpass-missed=mlcb-loop",
        *flags,
        "loops.c",
        "-o",
        "loops.o",
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stderr
