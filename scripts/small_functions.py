# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cut out of optimized programs the functions that are small enough for an optimum, a module each, for ``mlcb evaluate rl4real``."""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mlcb_gym import toolchain
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs.regalloc import LLC

OPTIMUM = ("-regalloc=mlcb", "-mlcb-regalloc-decider=optimum")
ALLOCATED = re.compile(r"^Name: +Allocated$.*?^Function: +'?([^'\n]+)'?$", re.MULTILINE | re.DOTALL)
"""A remark in YAML about a function that has its registers; of others a remark has another name."""


def main() -> int:
    """Write the modules, and print how many functions there are of each program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", help="programs, as of `mlcb evaluate --programs`")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a new folder")
    given = parser.parse_args()
    given.output.mkdir(parents=True)
    for program in (program for uri in given.programs for program in resolve(uri)):
        with tempfile.TemporaryDirectory(prefix="mlcb-") as folder:
            module = optimized(program, Path(folder))
            prefix = given.output / program.name.replace("/", ".")
            cut = [extract(module, function, Path(f"{prefix}.{number}.bc")) for number, function in enumerate(small_functions(module))]
        print(f"{program.name}: {len(cut)} functions")
    return 0


def optimized(program: Program, folder: Path) -> Path:
    """A program as it is when code generation begins."""
    module = folder / "optimized.bc"
    subprocess.run([toolchain.tool("opt"), "-passes=default<O2>", program.bitcode, "-o", module], check=True)
    return module


def small_functions(module: Path) -> Iterator[str]:
    """The functions that have an optimum."""
    remarks = module.with_suffix(".yaml")
    reported = [f"-pass-remarks-output={remarks}", "-pass-remarks-filter=mlcb"]
    subprocess.run([toolchain.tool("llc"), f"-load={toolchain.plugin()}", *OPTIMUM, *LLC, *reported, module, "-o", "/dev/null"], check=True)
    for remark in remarks.read_text().split("--- !"):
        yield from ALLOCATED.findall(remark)


def extract(module: Path, function: str, cut: Path) -> Path:
    """Write a module with this function alone."""
    subprocess.run([toolchain.tool("llvm-extract"), f"--func={function}", module, "-o", cut], check=True)
    return cut


if __name__ == "__main__":
    sys.exit(main())
