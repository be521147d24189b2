# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The manifest of the embedded programs' output: each program is built many ways and run, and all builds must print the same.

Run as ``python -m mlcb_gym.corpus.embedded_manifest`` after any change to the programs.
"""

import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mlcb_gym import atomic
from mlcb_gym.corpus.corpora import embedded
from mlcb_gym.errors import ProgramError, ToolchainError
from mlcb_gym.toolchain import tool

MANIFEST = Path(__file__).with_name("embedded") / "manifest.json"

LEVELS = ("-O0", "-O1", "-Oz", "-O3")
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror")
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
UNINITIALIZED = ("-O1", "-g", "-fsanitize=memory")  # clang's alone

#: CPU seconds: long enough to tell two builds apart, short enough to run at the end of an episode.
SLOWEST_O0 = 0.5
FASTEST_OZ = 0.02

_RUNS = 3
_TIMEOUT = 60.0
_KIND = re.compile(r"^// (?!SPDX)(.+?)\.?$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One execution: what it printed, and the CPU seconds it took."""

    output: str
    seconds: float


def check(source: Path, gcc: Path) -> str:
    """The output of ``source`` that all its builds agree on; raises where they do not, or where it runs too long or too short."""
    clang = tool("clang")
    with tempfile.TemporaryDirectory(prefix="mlcb-embedded-") as folder:
        runs = {
            f"{compiler.name} {' '.join(flags)}": _run(_build(source, compiler, flags, Path(folder)))
            for compiler, checks in ((clang, (SANITIZED, UNINITIALIZED)), (gcc, (SANITIZED,)))
            for flags in (*((level,) for level in LEVELS), *checks)
        }
    expected = runs[f"{clang.name} -O0"]
    for build, run in runs.items():
        if run.output != expected.output:
            raise ProgramError(f"{source}: {build} prints {run.output!r}, expected {expected.output!r}")
    _check_times(source, slow=expected.seconds, fast=runs[f"{clang.name} -Oz"].seconds)
    return expected.output


def main() -> None:
    """Check every program and write the manifest, or change nothing and say which program is wrong."""
    found = shutil.which("gcc")
    if found is None:
        raise ToolchainError("gcc not found on PATH: apt-get install gcc")
    programs = {}
    for source in embedded("embedded"):
        name = f"{source.parent.name}/{source.stem}"
        print(name, file=sys.stderr)
        programs[name] = {"kind": _kind(source), "sha256": sha256(source.read_bytes()).hexdigest(), "output": check(source, Path(found))}
    atomic.write(MANIFEST, json.dumps({"programs": programs}, indent=1, ensure_ascii=False) + "\n")


def _build(source: Path, compiler: Path, flags: tuple[str, ...], folder: Path) -> Path:
    binary = folder / f"{compiler.name}{''.join(flags)}"
    command = (str(compiler), *STRICT, *flags, str(source), "-o", str(binary))
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    if done.returncode:
        raise ProgramError(f"{source}: {' '.join(command)}:\n{done.stderr}")
    return binary


def _run(binary: Path) -> Run:
    """The output, and the least CPU time of a few runs: the machine is shared."""
    runs = [_run_once(binary) for _ in range(1 if "sanitize" in binary.name else _RUNS)]
    if len({run.output for run in runs}) != 1:
        raise ProgramError(f"{binary.name}: prints something else from run to run")
    return min(runs, key=lambda run: run.seconds)


def _run_once(binary: Path) -> Run:
    before = _child_seconds()
    done = subprocess.run((str(binary),), capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    if done.returncode or done.stderr:
        raise ProgramError(f"{binary.name}: exit status {done.returncode}, expected 0 and nothing on stderr:\n{done.stderr}")
    return Run(done.stdout, _child_seconds() - before)


def _child_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _check_times(source: Path, *, slow: float, fast: float) -> None:
    if slow > SLOWEST_O0:
        raise ProgramError(f"{source}: {slow:.3f} s at -O0, expected at most {SLOWEST_O0} s")
    if fast < FASTEST_OZ:
        raise ProgramError(f"{source}: {fast:.3f} s at -Oz, expected at least {FASTEST_OZ} s")


def _kind(source: Path) -> str:
    """The sentence that opens the file."""
    found = _KIND.search(source.read_text())
    if found is None:
        raise ProgramError(f"{source}: no comment that says what it is, expected one after the SPDX line")
    return found.group(1)


if __name__ == "__main__":
    main()
