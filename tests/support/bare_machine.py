# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A machine in a namespace that has this Python, the C and C++ runtime libraries and a shell: no LLVM, no compiler, no other package."""

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

RUNTIME = ("libstdc++.so.6", "libgcc_s.so.1", "libz.so.1", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1", "libresolv.so.2")
"""Beside what Python itself is linked with: what manylinux promises, as far as Python packages make use of it."""
SHELL = Path("/bin/sh")
WHEELS = Path("/usr/share/python-wheels")
"""Where Debian keeps the pip of new environments."""
SECONDS = 900.0


@dataclass(frozen=True)
class BareMachine:
    """The namespace, with a folder that it shares with this machine: the home of an empty virtual environment, and of all that it writes."""

    home: Path

    @property
    def python(self) -> Path:
        return self.home / "venv/bin/python"

    def run(self, *command: str | Path, seconds: float = SECONDS, read: Iterable[Path] = ()) -> subprocess.CompletedProcess[str]:
        """Run a command in the home.

        Args:
            read: folders of this machine that it sees too, at the same paths.
        """
        return subprocess.run([*self._namespace(read), *command], capture_output=True, text=True, timeout=seconds)

    def link_packages(self, source: Path, *, without: str) -> None:
        """Have the environment find the packages of another one, but for those whose names match a pattern."""
        target = next((self.home / "venv/lib").glob("python*/site-packages"))
        for entry in source.iterdir():
            if not re.match(without, entry.name) and not (target / entry.name).exists():
                (target / entry.name).symlink_to(entry)

    def _namespace(self, read: Iterable[Path]) -> list[str | Path]:
        places = [*_files(), Path(sysconfig.get_paths()["purelib"]), *read]
        bound = [word for place in map(str, dict.fromkeys(places)) for word in ("--ro-bind", place, place)]
        own = ("--bind", self.home, self.home, "--chdir", self.home)
        settings = {"HOME": str(self.home), "PATH": f"{self.python.parent}:/bin", "RAY_AUTH_MODE": "disabled", "OMP_NUM_THREADS": "1"}
        named = [word for name, value in settings.items() for word in ("--setenv", name, value)]
        empty = ("--tmpfs", "/", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--ro-bind", "/sys", "/sys")
        return ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", *empty, *bound, *own, *named]


def bare_machine(home: Path) -> BareMachine:
    """Return a machine whose environment has nothing but pip."""
    machine = BareMachine(home)
    done = machine.run(_executable(), "-m", "venv", home / "venv")
    assert done.returncode == 0, done.stderr
    return machine


def _executable() -> Path:
    return (Path(sys.base_prefix) / f"bin/python{sysconfig.get_python_version()}").resolve()


def _files() -> Iterator[Path]:
    """The files and folders of this machine that a bare one has, too."""
    standard = Path(sysconfig.get_paths()["stdlib"])
    yield from (_executable(), standard, SHELL, Path("/etc/passwd"), Path("/etc/hosts"))
    yield from (place for place in (WHEELS,) if place.exists())
    yield from _libraries([_executable(), SHELL, *(file for file in (standard / "lib-dynload").glob("*.so") if "tkinter" not in file.name)])


def _libraries(linked: Iterable[Path]) -> set[Path]:
    """The libraries that files are linked with, and those of the runtime."""
    found = subprocess.run(["ldd", *linked], capture_output=True, text=True, check=True).stdout
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    runtime = (re.search(rf"^\s*{re.escape(name)} \(libc6,.*\) => (\S+)$", known, re.MULTILINE) for name in RUNTIME)
    paths = [*re.findall(r"(/\S+) \(0x", found), *(match[1] for match in runtime if match)]
    return {Path(path) for path in paths}
