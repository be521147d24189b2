# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Link a program thin, by several threads that share the policies, with a plugin that ThreadSanitizer was built into; fail at a race.

make check-thread-links
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from mlcb_gym import toolchain
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped

MODULES, JOBS, LINKS = 12, 4, 5
SECONDS = 600.0
RACE = "WARNING: ThreadSanitizer"

MODULE = """
int next{next}(int);
static int product{own}(int n) {{ return n < 2 ? 1 : n * product{own}(n - 1) % 1009; }}
int next{own}(int x) {{
  int a[64], sum = 0;
  for (int k = 0; k < 64; ++k) a[k] = k * x + {own};
  for (int k = 1; k < 64; ++k) sum += a[k] * a[k - 1] ^ product{own}(k % 7);
  return (x > 1 ? sum + next{next}(x / 2) : sum) % 10007;
}}
"""
MAIN = '#include <stdio.h>\nint next0(int);\nint main(void) { printf("%d\\n", next0(1000)); }\n'


def main() -> int:
    """Return whether a link failed, raced, or made another program than stock's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plugin", type=Path, help="the plugin, built with -DMLCB_SANITIZE=thread")
    plugin: Path = parser.parse_args().plugin
    with tempfile.TemporaryDirectory(prefix="mlcb-") as name:
        folder = Path(name)
        write_clang_config(folder / "mlcb.cfg", list(shipped().values()), lto=True)
        (folder / "mlcb.cfg.so").unlink()
        (folder / "mlcb.cfg.so").symlink_to(plugin.resolve())
        sources = [folder / f"module{own}.c" for own in range(MODULES)] + [folder / "main.c"]
        for own, source in enumerate(sources[:-1]):
            source.write_text(MODULE.format(own=own, next=(own + 1) % MODULES))
        sources[-1].write_text(MAIN)
        expected = printed([toolchain.tool("clang"), "-O1", *sources], folder)
        objects = [compiled(source, folder) for source in sources]
        command: list[str | Path] = [toolchain.tool("clang"), "-O2", "-flto=thin", f"--ld-path={under_sanitizer(folder)}", *objects]
        command += [f"-Wl,--load-pass-plugin={folder / 'mlcb.cfg.so'}", f"-Wl,--thinlto-jobs={JOBS}"]
        return int(any(printed(command, folder) != expected for _ in range(LINKS)))


def compiled(source: Path, folder: Path) -> Path:
    """Compile for a link; the compiler loads the plugin that has no sanitizer."""
    target = source.with_suffix(".o")
    command: list[str | Path] = [toolchain.tool("clang"), f"--config={folder / 'mlcb.cfg'}", "-O2", "-flto=thin", "-c", source, "-o", target]
    subprocess.run(command, check=True, timeout=SECONDS)
    return target


def under_sanitizer(folder: Path) -> Path:
    """Write a linker that has the runtime of the sanitizer, which must be there first; without random addresses, which it cannot bear."""
    runtime = subprocess.run(["g++", "-print-file-name=libtsan.so"], check=True, capture_output=True, text=True).stdout.strip()
    linker = folder / "ld.lld"
    linker.write_text(f'#!/bin/sh\nexec setarch -R env LD_PRELOAD={runtime} {toolchain.tool("ld.lld")} "$@"\n')
    linker.chmod(0o755)
    return linker


def printed(command: list[str | Path], folder: Path) -> str:
    """Link, say what the linker says, and return what the program prints; a race counts as what it says."""
    linked = subprocess.run([*command, "-o", folder / "program"], capture_output=True, text=True, timeout=SECONDS)
    if linked.returncode or RACE in linked.stderr:
        sys.stderr.write(linked.stderr)
        return linked.stderr
    return subprocess.run([folder / "program"], check=True, capture_output=True, text=True, timeout=SECONDS).stdout


if __name__ == "__main__":
    sys.exit(main())
