# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The state of this machine: each part that the package uses, found or missing, with what to install and what works without it."""

import ctypes
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.errors import MlcbError, ProgramError, ToolchainError
from mlcb_gym.session.sandbox import refusal

SECONDS = 60.0
FILES = 256
"""Open files that a vector environment of a few dozen episodes needs."""
LANDLOCK_CREATE_RULESET, LANDLOCK_VERSION = 444, 1


@dataclass(frozen=True)
class Check:
    """One part of a machine.

    Args:
        name: of the part.
        look: returns what was found, in a few words; raises where it is missing.
        install: what to do where it is missing.
        without: what works without it; empty where nothing does.
    """

    name: str
    look: Callable[[], str]
    install: str
    without: str = ""

    @property
    def needed(self) -> bool:
        """Whether nothing works without this part."""
        return not self.without


@dataclass(frozen=True)
class Finding:
    """The result of a check; ``said`` is what was found, or why the part counts as missing."""

    check: Check
    ok: bool
    said: str


def examine(checks: Iterable[Check]) -> list[Finding]:
    """Return what each check finds; none raises for a part that is missing."""
    return [_finding(check) for check in checks]


def checks() -> list[Check]:
    """Return the checks of everything that this package uses, in the order of a first look."""
    return [*_compilers(), *_packages(), *_programs(), *_permissions(), *_kernel()]


def _finding(check: Check) -> Finding:
    try:
        return Finding(check, True, check.look())
    except PackageNotFoundError as missing:
        return Finding(check, False, f"Python package {missing.name} is not installed")
    except (MlcbError, OSError, AttributeError, subprocess.SubprocessError) as missing:  # AttributeError: the platform lacks a call
        return Finding(check, False, str(missing))


def _compilers() -> list[Check]:
    apt = f"apt-get install clang-{toolchain.LLVM_MAJOR} llvm-{toolchain.LLVM_MAJOR} (older systems: apt.llvm.org), or set MLCB_LLVM_BIN"
    bitcode = "environments, training and export, on .bc files and the programs that ship"
    rebuild = "install the wheel, or run `make setup` in a clone"
    return [
        Check("worker", lambda: f"LLVM {toolchain.version()} ({toolchain.worker()})", rebuild),
        Check("clang", partial(_tool, "clang"), apt, f"{bitcode}; not C and C++ sources, run times, deployment"),
        Check("opt", partial(_tool, "opt"), apt, f"{bitcode}; not session='pipe:', nor rows of stock LLVM in evaluations"),
        Check("llc", partial(_tool, "llc"), apt, f"{bitcode}; not rows of stock LLVM in evaluations"),
        Check("plugin in opt", _plugin_in_opt, apt, f"{bitcode}; not session='pipe:'"),
        Check("plugin in clang", _plugin_in_clang, apt, f"{bitcode}; not deployment"),
    ]


def _packages() -> list[Check]:
    train = "pip install 'mlcb_gym[train]'"
    return [
        Check("ONNX Runtime", partial(version, "onnxruntime"), "pip install onnxruntime", "environments and training; not policies as ONNX"),
        Check("torch", partial(version, "torch"), train, "environments, evaluation and deployment; not training and export"),
        Check("Ray", partial(version, "ray"), train, "environments, evaluation and deployment; not mlcb train and mlcb sweep"),
        Check("emx-onnx-cgen", partial(version, "emx-onnx-cgen"), "pip install 'mlcb_gym[aot]'", "everything; ONNX Runtime decides in compilers"),
    ]


def _programs() -> list[Check]:
    clang = "install the wheel, or clang, which compiles them"
    return [
        Check("programs: embedded", partial(_corpus, "embedded"), clang, "programs of your own, as .bc"),
        Check("programs: loops", partial(_corpus, "loops"), clang, "all tasks but loop_distribution"),
        Check("programs: default", partial(_corpus, "default"), "mlcb corpus build default", "the programs that ship; too few for a policy of use"),
        Check("programs: debian", partial(_corpus, "debian"), "mlcb corpus build debian", "the other corpora"),
    ]


def _permissions() -> list[Check]:
    return [
        Check("fork", _fork, "raise the limit on processes (ulimit -u, or the container's)"),
        Check("pidfd", _pidfd, "Linux 5.3 or later, and a container that allows pidfd_open"),
        Check("FIFOs", _fifo, "a temporary folder (TMPDIR) on a file system with FIFOs", "all but session='pipe:' and stock compilers"),
        Check("/dev/shm", _shared_memory, "mount /dev/shm, of at least 64 MB for Ray", "all but Ray's object store, which becomes slow files"),
        Check("open files", _open_files, f"ulimit -n {FILES}", "a few episodes at once"),
    ]


def _kernel() -> list[Check]:
    newer = "Linux {} or later, and a container that allows it"
    less = "environments, in as much of a sandbox as there is; mlcb serve with --sandbox partial or none"
    return [
        Check("Landlock", _landlock, newer.format("5.13"), less),
        Check("whole sandbox", _whole_sandbox, newer.format("6.12"), less),
        Check("seccomp", _seccomp, newer.format("4.14"), less),
        Check("huge pages for code", _huge_pages, newer.format("6.1"), "everything; an episode begins some milliseconds later"),
    ]


def _tool(name: str) -> str:
    found = toolchain.tool(name)
    return f"{toolchain.version_of(found)} ({found})"


def _plugin_in_opt() -> str:
    return _loads("opt", f"-load-pass-plugin={toolchain.plugin()}", "-passes=verify", "-disable-output", "-")


def _plugin_in_clang() -> str:
    return _loads("clang", f"-fpass-plugin={toolchain.plugin()}", "-O1", "-x", "c", "-c", "-", "-o", "/dev/null")


def _loads(tool: str, *arguments: str) -> str:
    """Return that a tool loads the plugin and does its work, on an empty input."""
    done = subprocess.run([toolchain.tool(tool), *arguments], input="", capture_output=True, text=True, errors="replace", timeout=SECONDS)
    if done.returncode:
        raise ToolchainError(f"{tool} does not load {toolchain.plugin()}: {done.stderr.strip().partition(chr(10))[0]}")
    return str(toolchain.plugin())


def _corpus(name: str) -> str:
    if name in corpora.BUILT and not corpora.folder(name).exists():
        raise ProgramError("not built")
    return f"{len(resolve(name))} programs"


def _fork() -> str:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    return "works, " + ("no limit on processes" if processes == resource.RLIM_INFINITY else f"at most {processes} processes")


def _pidfd() -> str:
    os.close(os.pidfd_open(os.getpid()))
    return "works"


def _fifo() -> str:
    with tempfile.TemporaryDirectory(prefix="mlcb-") as folder:
        os.mkfifo(Path(folder) / "fifo")
        return f"work in {tempfile.gettempdir()}"


def _shared_memory() -> str:
    with tempfile.TemporaryFile(dir="/dev/shm"):
        system = os.statvfs("/dev/shm")
    return f"{system.f_bavail * system.f_frsize >> 20} MB free"


def _open_files() -> str:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES:
        raise OSError(f"at most {soft} open files, expected {FILES}")
    return f"at most {soft}"


def _landlock() -> str:
    # syscall(2), for the C library has no function for it.
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_VERSION)
    if abi < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"ABI {abi}"


def _whole_sandbox() -> str:
    if said := refusal():
        raise ToolchainError(said.rpartition("sandbox: ")[2])
    return "files, signals, network, system calls"


def _seccomp() -> str:
    actions = Path("/proc/sys/kernel/seccomp/actions_avail").read_text().split()
    return f"{len(actions)} actions"


def _huge_pages() -> str:
    major, minor = map(int, os.uname().release.split(".")[:2])
    size = int(Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").read_text())
    if (major, minor) < (6, 1):
        raise OSError(f"Linux {major}.{minor} does not collapse code")
    return f"pages of {size >> 10} KB"
