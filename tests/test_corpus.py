# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools that build corpora: what goes wrong in one is one line that names what it worked on, and none is waited for without end."""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import bitcode, corpora, registry, sources, split
from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.programs import Program, resolve, validation_of
from mlcb_gym.corpus.sources import Source, fetch
from mlcb_gym.errors import ProgramError, ToolchainError
from mlcb_gym.evaluation.executables import Executables
from mlcb_gym.limits import lower
from mlcb_gym.tools import odg
from mlcb_gym.tools.vocabulary import count_triplets


def test_empty_name_is_no_program() -> None:
    with pytest.raises(ProgramError, match="'' names no program"):
        resolve("")


def test_tool_that_does_not_end_is_ended_and_named() -> None:
    with pytest.raises(ProgramError, match=r"^program.c: sleep did not end within 0.1 s$"):
        run(("sleep", "60"), subject="program.c", seconds=0.1)


def test_tool_has_the_memory_that_it_is_given() -> None:
    allocate = "import sys\ntry: bytearray(2 << 30)\nexcept MemoryError: sys.exit('no memory')"
    assert run((sys.executable, "-c", allocate), subject="program.c", memory_bytes=4 << 30) == b""
    with pytest.raises(ProgramError, match=r"^program.c: no memory$"):
        run((sys.executable, "-c", allocate), subject="program.c", memory_bytes=1 << 30)


def test_limit_that_is_lower_already_stays() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        for most in (2 << 30, 1 << 30, 4 << 30):
            lower(process.pid, resource.RLIMIT_AS, most, most)
        assert resource.prlimit(process.pid, resource.RLIMIT_AS) == (1 << 30, 1 << 30)
        process.kill()


def test_first_error_of_a_tool_is_what_is_said(tmp_path: Path) -> None:
    (tmp_path / "wrong.c").write_text("#warning first\nint f( {\n#error last\n")
    with pytest.raises(ProgramError, match=r"^subject: wrong.c:2:8: error: .*$"):
        run((toolchain.tool("clang"), "-c", "wrong.c", "-o", "-"), subject="subject", folder=tmp_path)


def test_silent_failure_is_an_exit_status() -> None:
    with pytest.raises(ProgramError, match=r"^subject: false ended with 1$"):
        run(("false",), subject="subject")


def test_fetch_that_does_not_end_is_ended_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sources, "FETCH_SECONDS", 0.1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ProgramError, match=r"^project: python cannot fetch 1.0: not done within 0.1 s$"):
        fetch(Source("project", "train", "pypi", "1.0", "0" * 64))
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_cached_archive_of_another_digest_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("project", "train", "pypi", "1.0", sha256(b"the archive").hexdigest())
    (tmp_path / "fetched.tar").write_bytes(b"the archive")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "_from_pypi", lambda _, folder: shutil.copyfile(tmp_path / "fetched.tar", folder / "fetched.tar"))
    cached = fetch(source)
    cached.write_bytes(b"another")
    assert fetch(source).read_bytes() == b"the archive"
    (tmp_path / "fetched.tar").unlink()
    assert fetch(source) == cached


def test_cached_bitcode_that_is_none_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "f.c").write_text("int f(void) { return 1; }\n")
    cached = bitcode.bitcode(tmp_path / "f.c")
    whole = cached.read_bytes()
    cached.write_bytes(b"garbage")
    assert bitcode.bitcode(tmp_path / "f.c").read_bytes() == whole
    cached.unlink()
    os.mkfifo(cached)
    assert bitcode.bitcode(tmp_path / "f.c").read_bytes() == whole


def test_unknown_pipeline_is_named() -> None:
    with pytest.raises(ProgramError, match=r"^no-such-pass: .*unknown pass name 'no-such-pass'"):
        odg.expand("no-such-pass")


def test_triplets_of_a_file_that_is_no_bitcode_name_it(tmp_path: Path) -> None:
    (tmp_path / "broken.bc").write_bytes(b"BC\xc0\xde broken")
    with pytest.raises(ProgramError, match=r"broken.bc: "):
        count_triplets([tmp_path / "broken.bc"])


def candidate(project: str, file: str, *bodies: str) -> split.Candidate:
    return split.Candidate(Source(project, "", "debian", "1.0", "0" * 64), file, b"", 300, len(bodies), frozenset(bodies))


def test_function_stands_in_one_split_alone_and_none_of_another_corpus_in_any() -> None:
    found = {
        "train": [candidate("a", "shared.c", "f", "x"), candidate("a", "own.c", "g"), candidate("a", "known.c", "h", "y")],
        "validation": [],
        "test": [candidate("b", "test.c", "f", "z")],
    }
    chosen = split.choose(found, {"train": 9, "validation": 9, "test": 9}, frozenset({"h"}))
    assert {name: [one.file for one in modules] for name, modules in chosen.items()} == {"train": ["own.c"], "validation": [], "test": ["test.c"]}


def test_program_in_a_folder_with_the_name_of_a_corpus_is_named_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loops").mkdir()
    (tmp_path / "loops/one.c").write_text("int one(void) { return 1; }\n")
    monkeypatch.chdir(tmp_path)
    (program,) = resolve("./loops")
    assert resolve(program.uri) == resolve(tmp_path / "loops/one.c")
    assert registry.source_of(program, tmp_path) == tmp_path / "loops/one.c"


def test_folders_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for project in ("zlib", "lz4"):
        (tmp_path / project / "src").mkdir(parents=True)
        (tmp_path / project / "src/main.c").write_text(f"int {project}(void) {{ return 1; }}\n")
    (tmp_path / "lz4/src/other.c").write_text("int other(int x) { return x; }\n")
    chosen = resolve([tmp_path / "zlib/src", tmp_path / "lz4/src"])
    assert [program.name for program in chosen] == [f"{tmp_path}/zlib/src/main.c", f"{tmp_path}/lz4/src/main.c", "other.c"]
    assert [program.project for program in chosen] == [f"{tmp_path}/zlib/src: src", *[f"{tmp_path}/lz4/src: src"] * 2]
    assert resolve([tmp_path / "lz4/src/main.c", tmp_path / "lz4/src/other.c"]) == resolve(tmp_path / "lz4/src")


def test_program_that_is_named_twice_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "progs").mkdir()
    for name in ("one", "two"):
        (tmp_path / f"progs/{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
    monkeypatch.chdir(tmp_path)
    assert [program.name for program in resolve(["progs/two.c", "progs", tmp_path / "progs/one.c"])] == ["two.c", "one.c"]
    assert len(resolve(["embedded/train/fft", "embedded/train"])) == len(resolve("embedded/train"))


def test_project_gives_no_more_modules_than_its_cap() -> None:
    many = [candidate("a", f"{i}.c", str(i)) for i in range(5)]
    chosen = split.choose({"train": many, "validation": [], "test": []}, {"train": 2, "validation": 9, "test": 9}, frozenset())
    assert len(chosen["train"]) == 2


def test_corpus_that_is_registered_is_resolved_and_compiled_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def programs(uri: str) -> Iterator[Program]:
        yield replace(resolve("embedded/train/fft")[0], name=uri, uri=uri)

    monkeypatch.setattr(registry, "CORPORA", registry.CORPORA.copy())
    registry.register(registry.Corpus(name="mine", programs=programs))
    (program,) = resolve("mine/train")
    assert program.uri == "mine/train"
    assert registry.source_of(program, tmp_path) == program.bitcode
    assert validation_of(["mine/train", "./mine"]) == ["mine/validation", "embedded/validation"]


@pytest.mark.parametrize("name", ["@x.c", "-E.c", "@x.ll", "-version.ll"])
def test_file_is_neither_an_option_nor_a_file_of_options(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / name[1:]).write_text("-no-such-option")
    (folder / name).write_text("int f(void) { return 1; }\n" if name.endswith(".c") else "define i32 @f() {\n  ret i32 1\n}\n")
    (program,) = resolve(folder / name)
    assert program.bitcode.read_bytes().startswith(b"BC")


def test_source_of_a_program_is_what_a_user_would_compile(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text("int one(void) { return 1; }\n")
    chosen = resolve(["embedded/train/fft", "loops/train/coupled_pair", tmp_path / "own.c"])
    assert [registry.source_of(program, tmp_path).name for program in chosen] == ["fft.c", "kernel.c", "own.c"]
    assert "coupled_pair" in (tmp_path / "kernel.c").read_text()


def counted_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools that are run to get bitcode, one after the other."""
    runs: list[str] = []

    def counting(command: Sequence[str], **options: Any) -> bytes:
        runs.append(" ".join(["-E"] * ("-E" in command)) or Path(command[0]).name)
        return run(command, **options)

    monkeypatch.setattr(bitcode, "run", counting)
    return runs


def test_kernels_are_preprocessed_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resolve("loops/validation")
    bitcode._preprocessed_text.cache_clear()
    runs = counted_runs(monkeypatch)
    assert resolve("loops/validation") == before
    assert runs == ["-E"]


@pytest.mark.parametrize("include", ["include", "inc\\\nlude", "inc\\ \nlude"])
def test_source_that_includes_nothing_is_not_preprocessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, include: str) -> None:
    (tmp_path / "plain.c").write_text("int f(int x) { return x; }\n")
    (tmp_path / "including.c").write_text(f'#{include} "own.h"\nint f(int x) {{ return x + OWN; }}\n')
    (tmp_path / "own.h").write_text("#define OWN 1\n")
    first = resolve(tmp_path)
    runs = counted_runs(monkeypatch)
    assert resolve(tmp_path) == first
    assert runs == ["-E"]
    (tmp_path / "own.h").write_text("#define OWN 2\n")
    assert [program.digest == was.digest for program, was in zip(resolve(tmp_path), first, strict=True)] == [False, True]


@pytest.mark.parametrize("uri", ["loops/composed/0-99999999999999999999", "loops/composed/0-10000"])
def test_more_composed_kernels_than_anybody_compiles_are_refused_at_once(uri: str) -> None:
    with pytest.raises(ProgramError, match=r"kernels, expected at most 10000 at once"):
        resolve(uri)


@pytest.fixture
def with_headers(tmp_path: Path) -> Path:
    """A folder whose sources need a header of another folder."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "own.h").write_text("#define OWN 41\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("beside.c", "deep/er/below.c"):
        (tmp_path / name).write_text('#include "own.h"\nint f(void) { return OWN + MORE; }\n')
    return tmp_path


def test_flags_of_sources_are_read_from_the_folder_above(with_headers: Path) -> None:
    with pytest.raises(ProgramError, match=r"'own.h' file not found"):
        resolve(with_headers)
    (with_headers / "compile_flags.txt").write_text("-Wall\n-O2\n\n-I\ninclude\n-DMORE=1\n-std=gnu17\n")
    assert [program.name for program in resolve(with_headers)] == ["beside.c", "deep/er/below.c"]
    before = [program.digest for program in resolve(with_headers)]
    (with_headers / "compile_flags.txt").write_text("-Iinclude\n-DMORE=2\n")
    assert not set(before) & {program.digest for program in resolve(with_headers)}


def test_executables_have_the_flags_of_the_bitcode(with_headers: Path, tmp_path: Path) -> None:
    (with_headers / "compile_flags.txt").write_text("-Iinclude\n-DMORE=1\n")
    (with_headers / "beside.c").unlink()
    (with_headers / "deep" / "er" / "below.c").write_text('#include "own.h"\nint main(void) { return OWN + MORE - 42; }\n')
    (program,) = resolve(with_headers)
    Executables(program, tmp_path)


def test_flags_above_the_named_folder_are_not_read(with_headers: Path) -> None:
    (with_headers / "compile_flags.txt").write_text("-Iinclude\n-DMORE=1\n")
    with pytest.raises(ProgramError, match=r"'own.h' file not found"):
        resolve(with_headers / "deep")


@pytest.mark.parametrize("flag", ["-fplugin=evil.so", "-Xclang", "@more", "-mllvm", "-B/evil", "--config=evil"])
def test_flag_that_could_run_code_is_refused(with_headers: Path, flag: str) -> None:
    (with_headers / "compile_flags.txt").write_text(f"-Iinclude\n{flag}\n")
    with pytest.raises(ProgramError, match=rf"compile_flags.txt: {flag}: expected flags of the preprocessor or the language"):
        resolve(with_headers)


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        ("-D\n@more", "compile_flags.txt: -D@more: expected the name of a macro"),
        ("-U@more", "compile_flags.txt: -U@more: expected the name of a macro"),
        ("-I@more", "use of undeclared identifier 'MORE'"),
        ("-I\n@more", "use of undeclared identifier 'MORE'"),
        ("-isystem\n./@more", "use of undeclared identifier 'MORE'"),
        ("-include\n@more", "'./@more' file not found"),
    ],
)
def test_value_of_a_flag_names_no_file_of_more_flags(with_headers: Path, flags: str, error: str) -> None:
    """Which clang would read in the place of any word that begins with @."""
    (with_headers / "more").write_text("include/own.h -DMORE=1")
    (with_headers / "compile_flags.txt").write_text(f"-Iinclude\n{flags}\n")
    with pytest.raises(ProgramError, match=error):
        resolve(with_headers / "beside.c")


def test_flags_with_a_byte_0_are_refused(with_headers: Path) -> None:
    (with_headers / "compile_flags.txt").write_text("-Iinclude\n-DMORE=1\0\n")
    with pytest.raises(ProgramError, match=r"compile_flags.txt: has a byte 0, expected one flag a line$"):
        resolve(with_headers)


def test_flag_without_its_value_is_named(with_headers: Path) -> None:
    (with_headers / "compile_flags.txt").write_text("-DMORE=1\n-I\n")
    with pytest.raises(ProgramError, match=r"compile_flags.txt: -I has no value"):
        resolve(with_headers)


@pytest.fixture
def without_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tool of LLVM's is found."""

    def missing(name: str) -> Path:
        raise ToolchainError(f"{name} not found")

    monkeypatch.setattr("mlcb_gym.corpus.bitcode.tool", missing)


@pytest.mark.usefixtures("without_tools")
@pytest.mark.parametrize(("name", "tool"), [("own.c", "clang"), ("own.cpp", r"clang\+\+"), ("own.ll", "llvm-as")])
def test_source_without_its_tool_is_named_in_one_sentence(tmp_path: Path, name: str, tool: str) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(ToolchainError, match=rf"{name}: {tool} not found; bitcode \(.bc\) needs no tool$"):
        resolve(tmp_path / name)


@pytest.mark.usefixtures("without_tools")
@pytest.mark.parametrize("uri", ["embedded/test/aes", "loops/train/mixed_division"])
def test_program_that_ships_as_bitcode_needs_no_tool(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brought = tmp_path / "brought.bc"
    brought.write_bytes(b"BC\xc0\xde")
    monkeypatch.setattr("mlcb_gym.corpus.registry.shipped", {uri: brought}.get)
    registry._embedded_program.cache_clear()
    (program,) = resolve(uri)
    registry._embedded_program.cache_clear()
    assert (program.uri, program.bitcode) == (uri, brought)


def test_module_of_another_manifest_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCB_DATA", str(tmp_path))
    module = corpora.manifest("default")[0]
    module.path.parent.mkdir(parents=True)
    module.path.write_bytes(b"of last year")
    with pytest.raises(ProgramError, match=f"^{re.escape(module.uri)}: built from another manifest, run `mlcb corpus build default`$"):
        resolve(module.uri)
