# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds of every kind: sources, flags and ways of calling clang, and what each lets a user observe."""

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlcb_gym import toolchain
from tests.support.builds import COROUTINE

Observed = Mapping[str, str]
"""What was said, printed or written, by name; never code."""

C = """
int printf(const char *, ...);
static int step(int x) { return x & 1 ? 3 * x + 1 : x / 2; }
static int length(int x) { int n = 0; while (x != 1) { x = step(x); ++n; } return n; }
int unused(int a, int b) { int shadow; return a; }
int main(int argc, char **argv) {
  long sum = 0;
  int a[64], b[64];
  for (int i = 1; i < 500; ++i) sum += length(i + argc - 1);
  for (int i = 0; i < 64; ++i) { a[i] = i; b[i] = a[i] * 3; }
  printf("%ld %d\\n", sum, b[63]);
  return 0;
}
"""
CXX = """
#include <map>
#include <optional>
#include <string>
int printf(const char *, ...) asm("printf");
template <class T> static std::optional<T> half(T x) { if (x % 2) return {}; return x / 2; }
int main() {
  std::map<std::string, int> seen;
  for (int i = 0; i < 50; ++i) if (auto h = half(i)) seen[std::to_string(*h % 7)] += i;
  for (auto &[name, sum] : seen) printf("%s %d\\n", name.c_str(), sum);
}
"""
EXCEPTIONS = """
int printf(const char *, ...) asm("printf");
struct Tracked { int id; ~Tracked() { printf("gone %d\\n", id); } };
static int deep(int n) { Tracked here{n}; if (n == 0) throw 7; return deep(n - 1) + 1; }
int main() {
  try { return deep(4); } catch (int thrown) { printf("caught %d\\n", thrown); }
  try { try { throw "text"; } catch (int) {} } catch (const char *text) { printf("%s\\n", text); }
}
"""
ASSEMBLER = """
.text
.globl main
main:
  subq $8, %rsp
  leaq text(%rip), %rdi
  call puts@PLT
  xorl %eax, %eax
  addq $8, %rsp
  ret
.section .rodata
text: .asciz "assembled"
.section .note.GNU-stack,"",@progbits
"""


@dataclass(frozen=True)
class Source:
    """A program of one file; ``given`` says how clang is given it, ``cxx`` by which driver."""

    file: str
    text: str
    cxx: bool = False
    given: tuple[str, ...] = ()
    kind: str = ""


SOURCES = {
    "C": Source("program.c", C),
    "C++17": Source("program.cpp", CXX, cxx=True, given=("-std=c++17",)),
    "coroutines": Source("program.cpp", COROUTINE, cxx=True, given=("-std=c++20",)),
    "exceptions": Source("program.cpp", EXCEPTIONS, cxx=True),
    "assembler .s": Source("program.s", ASSEMBLER),
    "assembler .S": Source("program.S", "#define entry main\n" + ASSEMBLER.replace("main", "entry")),
    "assembler by -x": Source("program.txt", "#define entry main\n" + ASSEMBLER.replace("main", "entry"), given=("-x", "assembler-with-cpp")),
    "bitcode": Source("program.bc", C, kind="bitcode"),
    "precompiled header": Source("program.c", C.replace("int printf(const char *, ...);", ""), kind="header"),
}
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz")
POLICIES = (
    "posetrl",
    "inliner",
    "eviction",
    "priority",
    "loop_distribution",
    "function_size",
    "all",
    "posetrl guarded",
    "all guarded",
)


@dataclass(frozen=True)
class Build:
    """A build in a folder of its own: a source, a level, and the configuration of the policies, if any."""

    folder: Path
    source: Source
    level: str
    config: Path | None = None

    def prepare(self) -> list[str]:
        """Write the source; return what clang is given for it."""
        self.folder.mkdir(parents=True)
        if self.source.kind == "bitcode":
            (self.folder / "made.c").write_text(self.source.text)
            plain = ["-O1", "-Xclang", "-disable-llvm-passes", "-w", "-emit-llvm", "-S", "made.c", "-o", "-"]
            made = subprocess.run([toolchain.tool("clang"), *plain], cwd=self.folder, check=True, capture_output=True, text=True, timeout=60).stdout
            portable = re.sub(r'"(target-(cpu|features)|tune-cpu)"="[^"]*"', "", made)  # or LLVM warns wherever it makes a target
            subprocess.run([toolchain.tool("llvm-as"), "-o", self.source.file], cwd=self.folder, check=True, input=portable, text=True, timeout=60)
            return [self.source.file]
        (self.folder / self.source.file).write_text(self.source.text)
        if self.source.kind == "header":
            (self.folder / "common.h").write_text("int printf(const char *, ...);\n")
            return ["-include-pch", "common.h.pch", self.source.file]
        return [*self.source.given, self.source.file]

    def clang(self, *options: str, wrapper: Sequence[str] = (), given: str | None = None) -> str:
        """Run the driver; return its exit status and what it said, without names of temporary files."""
        driver = toolchain.tool("clang++" if self.source.cxx else "clang")
        configured = [] if self.config is None else [f"--config={self.config}"]
        command: list[str | Path] = [*wrapper, driver, *configured, self.level, "-Wall", *options]
        done = subprocess.run(command, cwd=self.folder, input=given, capture_output=True, text=True, timeout=120, check=False)
        if "PLEASE submit a bug report" in done.stderr:
            return f"{done.returncode}\ncrashed"
        said = re.sub(r"^mlcb: warning: the policy for .*\n", "", done.stdout + done.stderr, flags=re.MULTILINE)
        return f"{done.returncode}\n{re.sub(r'/tmp/[^ :]*-[0-9a-f]{6}', '/tmp/NAME', said)}"

    def run(self, *command: str | Path, **variables: str) -> str:
        """Run a program of the build, if it was made."""
        if not (self.folder / command[0]).exists():
            return "not made"
        done = subprocess.run(command, cwd=self.folder, env={"PATH": "/usr/bin:/bin", **variables}, capture_output=True, text=True, timeout=60)
        return f"{done.returncode}\n{done.stdout}"

    def tool(self, name: str, *options: str) -> str:
        """Run a tool of LLVM."""
        done = subprocess.run([toolchain.tool(name), *options], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        return f"{done.returncode}\n{done.stdout}"


Way = Callable[[Build, list[str]], Observed]


def linked(*flags: str) -> Way:
    """Link a program with some flags, and run it."""

    def way(build: Build, given: list[str]) -> Observed:
        # A configuration for -flto has an input for the linker, and a header that is not compiled by -c is one for clang.
        compiled = ["-c"] if any("lto" in flag for flag in flags) else []
        header = build.clang(*flags, *compiled, "-x", "c-header", "common.h", "-o", "common.h.pch") if build.source.kind == "header" else ""
        return {"header": header, "said": build.clang(*flags, *given, "-o", "program"), "output": build.run("./program")}

    return way


def said(*flags: str) -> Way:
    """Have clang print something, or nothing."""
    return lambda build, given: {"said": build.clang(*flags, *given)}


def targeted(triple: str) -> Way:
    """Compile for another machine."""

    def way(build: Build, given: list[str]) -> Observed:
        compiled = build.clang(f"--target={triple}", "-c", *given, "-o", "program.o")
        return {"said": compiled, "object": build.tool("llvm-readobj", "--file-headers", "program.o").split("SectionHeaderOffset")[0]}

    return way


def profiled(flag: str, shown: Sequence[str]) -> Way:
    """Make a profile and look at its counts."""

    def way(build: Build, given: list[str]) -> Observed:
        seen = dict(linked(flag)(build, given))
        seen["output"] = build.run("./program", LLVM_PROFILE_FILE="program.profraw")
        seen["merged"] = build.tool("llvm-profdata", "merge", "program.profraw", "-o", "program.profdata")
        return seen | {"counts": build.tool("llvm-profdata", "show", *shown, "program.profdata")}

    return way


def with_profile(build: Build, given: list[str]) -> Observed:
    """Use a profile that stock made of the same source at the same level."""
    stock = Build(build.folder / "stock", build.source, build.level)
    own = stock.prepare()
    profiled("-fprofile-generate", [])(stock, own)
    if (stock.folder / "program.profdata").exists():
        shutil.copy(stock.folder / "program.profdata", build.folder)
    return linked("-fprofile-use=program.profdata")(build, given)


def sampled(build: Build, given: list[str]) -> Observed:
    """Use a profile of samples."""
    (build.folder / "samples").write_text("main:1000:0\n 4: 500\nlength:4000:10\n 0: 4000\n")
    return linked("-fprofile-sample-use=samples", "-gline-tables-only")(build, given)


def covered(build: Build, given: list[str]) -> Observed:
    """Count lines."""
    seen = dict(linked("--coverage")(build, given))
    counts = [build.tool("llvm-cov", "gcov", "-t", path.name) for path in sorted(build.folder.glob("*.gcda"))]
    return seen | {"counts": "\n".join(counts)}


def instrumented(build: Build, given: list[str]) -> Observed:
    """Count entries of functions."""
    hooks = "static long n; __attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *f, void *c) { ++n; }\n"
    hooks += "__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *f, void *c) { --n; }\n"
    hooks += 'int printf(const char *, ...); __attribute__((destructor, no_instrument_function)) void end(void) { printf("%ld open\\n", n); }\n'
    (build.folder / "hooks.c").write_text(hooks)
    subprocess.run([toolchain.tool("clang"), "-c", "hooks.c"], cwd=build.folder, check=True, timeout=60)
    return linked("-finstrument-functions", "hooks.o")(build, given)


def saved(build: Build, given: list[str]) -> Observed:
    """Keep what comes between."""
    seen = linked("-save-temps")(build, given)
    return dict(seen) | {"files": " ".join(sorted(path.name for path in build.folder.iterdir() if path.suffix in {".i", ".ii", ".bc", ".s", ".o"}))}


def several(build: Build, given: list[str]) -> Observed:
    """Compile several files at once, then link them."""
    (build.folder / "other.c").write_text("int other(int x) { return x * 3; }\n")
    seen = {"said": build.clang("-c", *given, *(["-x", "none"] if build.source.given else []), "other.c")}
    objects = sorted(path.name for path in build.folder.glob("*.o"))
    return seen | {"linked": build.clang(*objects, "-o", "program"), "output": build.run("./program")}


def from_stdin(build: Build, given: list[str]) -> Observed:
    """Read the source from a pipe."""
    if build.source.kind == "bitcode":
        return said("-c", "-o", "program.o")(build, given)
    language = "c++" if build.source.cxx else "assembler" if "assembler" in build.source.text else "c"
    return {"said": build.clang("-x", language, "-c", "-", "-o", "program.o", given=build.source.text)}


def responded(build: Build, given: list[str]) -> Observed:
    """Give the flags in a file."""
    (build.folder / "flags").write_text("\n".join([*given, "-o", "program"]))
    return {"said": build.clang("@flags"), "output": build.run("./program")}


def cached(build: Build, given: list[str]) -> Observed:
    """Compile by ccache, twice."""
    wrapper = ["env", f"CCACHE_DIR={build.folder}/cache", "ccache"]
    compiled = [build.clang("-c", *given, "-o", "program.o", wrapper=wrapper) for _ in range(2)]
    return {"said": "\n".join(compiled), "linked": build.clang("program.o", "-o", "program"), "output": build.run("./program")}


COUNTS = ("--all-functions", "--counts")
WAYS: Mapping[str, Way] = {
    "linked": linked(),
    "-g": linked("-g"),
    "-fPIC": linked("-fPIC"),
    "-ffunction-sections": linked("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"),
    "-flto=full": linked("-flto=full", "-fuse-ld=lld"),
    "-flto=thin": linked("-flto=thin", "-fuse-ld=lld"),
    "-fprofile-generate": profiled("-fprofile-generate", COUNTS),
    "-fprofile-instr-generate": profiled("-fprofile-instr-generate", COUNTS),
    "-fcs-profile-generate": profiled("-fcs-profile-generate", ()),
    "-fprofile-use": with_profile,
    "-fprofile-sample-use": sampled,
    "--coverage": covered,
    "-fsanitize=address": linked("-fsanitize=address"),
    "-fsanitize=undefined": linked("-fsanitize=undefined"),
    "-fsanitize=thread": linked("-fsanitize=thread"),
    "-finstrument-functions": instrumented,
    "-save-temps": saved,
    "-fembed-bitcode": linked("-fembed-bitcode"),
    "-E": said("-E"),
    "-M": said("-M"),
    "-fsyntax-only": said("-fsyntax-only", "-Wextra"),
    "-Werror": linked("-Werror", "-Wno-unused-variable"),
    "-S -emit-llvm -O0": lambda build, given: {"said": build.clang("-S", "-emit-llvm", "-O0", *given, "-o", "program.ll")},
    **{f"--target={triple}": targeted(triple) for triple in ("aarch64-linux-gnu", "armv7-linux-gnueabihf", "riscv64-linux-gnu", "i686-linux-gnu")},
    "several": several,
    "stdin": from_stdin,
    "response file": responded,
    "ccache": cached,
}
