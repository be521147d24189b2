# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Corpora from a user's own build, in MLGO's layout."""

import json
import subprocess
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import compile_commands, mlgo
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.errors import ProgramError
from tests.support.command_line import mlcb

MAIN = """
#include "number.h"
#ifndef WANTED
#error not wanted
#endif
static int twice(int x) { return 2 * x; }
int main() { return twice(NUMBER); }
"""


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build of a C file, a C++ file and one in assembly, as CMake, a launcher and a human would write it down."""
    source, folder = tmp_path / "source", tmp_path / "build"
    (source / "include").mkdir(parents=True)
    folder.mkdir()
    (source / "include" / "number.h").write_text("#define NUMBER 21\n")
    (source / "main.c").write_text(MAIN)
    (source / "more.cpp").write_text("template <class T> T same(T x) { return x; }\nint more(int x) { return same(x); }\n")
    (source / "low.s").write_text("nop\n")
    entries = [
        {"directory": str(folder), "file": "../source/main.c", "output": "sub/main.c.o"}
        | {"command": "/usr/bin/cc -DWANTED='\"a b\"' -I../source/include -O3 -g -Werror -MD -MF x.d -o sub/main.c.o -c ../source/main.c"},
        {"directory": str(folder), "file": "../source/more.cpp"}
        | {"arguments": ["ccache", "g++", "-std=gnu++17", "-flto", "-c", "../source/more.cpp", "-o", "more.o"]},
        {"directory": str(folder), "file": "../source/low.s", "command": "cc -c ../source/low.s -o low.o"},
    ]
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return folder


def ir(path: Path) -> str:
    return subprocess.run([toolchain.tool("llvm-dis"), path, "-o", "-"], check=True, capture_output=True, text=True).stdout


def test_every_file_of_a_build_is_a_module_as_oz_sees_it(build: Path, tmp_path: Path) -> None:
    failed = list(compile_commands.extract(build / "compile_commands.json", tmp_path / "corpus"))
    assert failed == ["../source/low.s: neither C nor C++, expected one of .c .C .cc .cpp .cxx .c++"]
    programs = resolve(tmp_path / "corpus")
    assert [p.name for p in programs] == ["sub/main.c.o", "more.o"]
    main, more = (ir(p.bitcode) for p in programs)
    assert "call i32 @twice" in main
    assert "minsize" in main
    assert "_Z4sameIiET_S0_" in more


def test_options_that_are_passed_on_stand_and_fall_with_who_passes_them_on(build: Path, tmp_path: Path) -> None:
    passed = ["-Xclang", "-fembed-bitcode=all", "-mllvm", "-global-isel", "-Xpreprocessor", "-MF", "-Xpreprocessor", "x.d", "-Xclang", "-DWANTED"]
    entry = {"directory": str(build), "file": "../source/main.c", "arguments": ["cc", *passed, "-I../source/include", "-c", "../source/main.c"]}
    (build / "compile_commands.json").write_text(json.dumps([entry]))
    assert list(compile_commands.extract(build / "compile_commands.json", tmp_path / "corpus")) == []
    (command,) = (tmp_path / "corpus").rglob("*.cmd")
    words = command.read_bytes().split(b"\0")
    assert b"WANTED" in words
    assert not {b"x.d", b"-global-isel"} & set(words)


def test_objects_of_one_name_in_two_folders_are_two_modules(tmp_path: Path) -> None:
    entries = []
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.c").write_text(f"int {folder}(void) {{ return 1; }}\n")
        entries.append({"directory": str(tmp_path / folder), "file": "same.c", "command": "cc -c same.c -o same.o"})
    entries.append({**entries[0], "directory": str(tmp_path / "other"), "command": "cc -c same.c -o ../one/same.o"})
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    commands = compile_commands.read(tmp_path / "compile_commands.json")
    assert {name: command.folder.name for name, command in commands.items()} == {"one/same.o": "other", "other/same.o": "other"}
    assert list(compile_commands.extract(tmp_path / "compile_commands.json", tmp_path / "corpus")) == []
    assert [p.name for p in resolve(tmp_path / "corpus")] == ["one/same.o", "other/same.o"]


def test_one_source_compiled_in_two_folders_is_two_modules(tmp_path: Path) -> None:
    (tmp_path / "same.c").write_text("int number(void) { return NUMBER; }\n")
    entries = []
    for number, folder in enumerate(("one", "other")):
        (tmp_path / folder).mkdir()
        command = f"cc -DNUMBER={number} -c {tmp_path}/same.c"
        entries.append({"directory": str(tmp_path / folder), "file": f"{tmp_path}/same.c", "command": command})
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    assert list(compile_commands.extract(tmp_path / "compile_commands.json", tmp_path / "corpus")) == []
    modules = [ir(program.bitcode) for program in resolve(tmp_path / "corpus")]
    assert [f"ret i32 {number}" in module for number, module in enumerate(modules)] == [True, True]


def test_folder_that_is_gone_is_left_out_and_no_dependencies_are_written(tmp_path: Path) -> None:
    (tmp_path / "one.c").write_text("int one(void) { return 1; }\n")
    entries = [
        {"directory": str(tmp_path), "file": "one.c", "command": "cc -Wp,-MMD,one.d -c one.c -o one.o"},
        {"directory": str(tmp_path / "gone"), "file": "two.c", "command": "cc -c two.c -o two.o"},
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    failed = list(compile_commands.extract(tmp_path / "compile_commands.json", tmp_path / "corpus"))
    assert failed == [f"two.c: {tmp_path}/gone: no such folder, expected that of its compilation"]
    assert [program.name for program in resolve(tmp_path / "corpus")] == ["one.o"]
    assert not (tmp_path / "one.d").exists()


def test_corpus_is_in_the_layout_of_mlgo(build: Path, tmp_path: Path) -> None:
    list(compile_commands.extract(build / "compile_commands.json", tmp_path / "corpus"))
    described = json.loads((tmp_path / "corpus" / "corpus_description.json").read_text())
    assert described == {"has_thinlto": False, "modules": ["sub/main.c.o", "more.o"]}
    command = (tmp_path / "corpus" / "sub" / "main.c.o.cmd").read_bytes().split(b"\0")
    assert {b"-triple", b"-Oz"} <= set(command)
    assert b"-o" not in command


def test_bitcode_that_the_build_embedded_is_taken_from_its_objects(build: Path, tmp_path: Path) -> None:
    embedding: list[str | Path] = [toolchain.tool("clang"), "-O2", "-DWANTED", "-I../source/include", "-Xclang", "-fembed-bitcode=all"]
    (build / "sub").mkdir()
    subprocess.run([*embedding, "-c", "../source/main.c", "-o", "sub/main.c.o"], check=True, cwd=build)
    failed = list(compile_commands.extract(build / "compile_commands.json", tmp_path / "corpus", built=True))
    assert ["no such object" in line for line in failed] == [True, True]
    (program,) = resolve(tmp_path / "corpus")
    assert "call i32 @twice" in ir(program.bitcode)


def test_corpus_of_mlgo_is_read_in_its_order(tmp_path: Path) -> None:
    for name in ("b", "a", "unlisted"):
        (tmp_path / f"{name}.c").write_text(f"int {name}(int x) {{ return x; }}\n")
        subprocess.run([toolchain.tool("clang"), "-c", "-emit-llvm", f"{name}.c", "-o", f"{name}.o.bc"], check=True, cwd=tmp_path)
    mlgo.describe(tmp_path, ["b.o", "a.o"])
    assert [p.name for p in resolve(tmp_path)] == ["b.o", "a.o"]
    assert {p.project for p in resolve(tmp_path)} == {tmp_path.name}


def test_description_of_a_corpus_names_projects(tmp_path: Path) -> None:
    for name in ("b", "a", "sub/c"):
        (tmp_path / f"{name}.bc").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.bc").write_bytes(resolve("embedded/train/fft")[0].bitcode.read_bytes())
    description = {"modules": ["b", "a", "sub/c"], "projects": {"b": "zlib"}}
    (tmp_path / mlgo.DESCRIPTION).write_text(json.dumps(description))
    assert [p.project for p in resolve(tmp_path)] == ["zlib", tmp_path.name, f"{tmp_path.name}/sub"]
    (tmp_path / mlgo.DESCRIPTION).write_text(json.dumps(description | {"projects": ["zlib"]}))
    with pytest.raises(ProgramError, match=r'expected an object with the names of projects in "projects"'):
        resolve(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", 'expected an object with "modules"'),
        ("{", 'expected an object with "modules"'),
        ("[" * 100_000, 'expected an object with "modules"'),
        ('{"modules": []}', "expected the names of modules"),
        ('{"modules": ["gone"]}', r"gone\.bc: named in corpus_description\.json, expected LLVM bitcode"),
    ],
)
def test_description_that_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "corpus_description.json").write_text(text)
    with pytest.raises(ProgramError, match=message):
        resolve(tmp_path)


def test_command_writes_a_corpus_and_says_what_failed(build: Path, tmp_path: Path) -> None:
    done = mlcb("corpus", "from-compile-commands", build / "compile_commands.json", "-o", tmp_path / "corpus")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/corpus: 2 modules\n")
    assert done.stderr.startswith("../source/low.s: ")


@pytest.mark.parametrize(("text", "message"), [("{}", "none of 0 files"), ("[1]", "no compilation database"), ("x", "no compilation database")])
def test_database_that_is_none_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "compile_commands.json").write_text(text)
    done = mlcb("corpus", "from-compile-commands", tmp_path / "compile_commands.json", "-o", tmp_path / "corpus")
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
