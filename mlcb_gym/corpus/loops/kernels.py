# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop kernels as C programs that time themselves: the table of ``kernels.toml`` joined with its driver."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FOLDER = files("mlcb_gym.corpus").joinpath("loops")
LOOPS = "loops"
COMPOSED = "composed"
_INCLUDE = "#include KERNELS_FILE\n"


@dataclass(frozen=True)
class Kernel:
    """A loop on the driver's arrays; ``pointers`` are what its parameters x, y and z point to."""

    name: str
    category: str
    split: str
    body: str
    pointers: tuple[str, str, str] = ("a", "b", "c")

    @property
    def uri(self) -> str:
        """The name of this kernel alone, for `resolve`."""
        return f"{LOOPS}/{COMPOSED}/{self.name.removeprefix(f'{COMPOSED}_')}" if self.category == COMPOSED else f"{LOOPS}/{self.split}/{self.name}"

    @property
    def definition(self) -> str:
        """The C function of the kernel."""
        unused = "" if "return" in self.body else "return 0;\n"
        return f"static float {self.name}(int n, float *x, float *y, float *z) {{\n(void)n, (void)x, (void)y, (void)z;\n{self.body}{unused}}}\n"


@cache
def kernels() -> tuple[Kernel, ...]:
    """Return every kernel, in the order of the table."""
    table = tomllib.loads(_FOLDER.joinpath("kernels.toml").read_text())
    return tuple(Kernel(**entry | {"pointers": tuple(entry.get("pointers", Kernel.pointers))}) for entry in table["kernel"])


def source(chosen: Iterable[Kernel]) -> str:
    """Return a C program of these kernels.

    Run without arguments it prints a line for each, its name and a checksum of all that it may write; ``program GROUPS`` adds the seconds that
    a run takes in the best of so many groups of runs. ``-DN=...`` sets how many elements an array has (4096).
    """
    chosen = tuple(chosen)
    entries = " ".join(f"ENTRY({kernel.name}, {', '.join(kernel.pointers)})" for kernel in chosen)
    definitions = "\n".join(kernel.definition for kernel in chosen)
    return _FOLDER.joinpath("driver.c").read_text().replace(_INCLUDE, f"{definitions}\n#define KERNELS(ENTRY) {entries}\n")
