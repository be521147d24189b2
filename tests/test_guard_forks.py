# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Under the guard a fork of clang finishes in its place: who called it must not be able to tell."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.policies import shipped
from tests.support import processes

GUARDED = ("posetrl inliner", "posetrl function_size")
"""Policies of which each is tried for itself where the pipeline begins, and such that are tried where it begins and where it ends."""

WARNS = "int deep(void (*use)(char *)) { char room[5000]; use(room); return room[7]; }"

SMALLEST = {"posetrl": "validation/text_codec", "inliner": "validation/huffman", "": "train/regex_nfa"}
"""A program of which this way is the smallest, by that way."""

LONG = "".join(f"int f{i}(int a) {{ for (int i = 0; i < a; ++i) a ^= a * {i}; return a; }}\n" for i in range(300))

FAILS_IN_THE_BACKEND = 'int f(int a) { __asm__("no such instruction"); return a; }'

Configs = dict[str, Path | None]


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> Configs:
    """By who decides; guarded where that are several, and alone by what the guard may keep."""
    folder = tmp_path_factory.mktemp("configs")
    made: Configs = {"": None}
    for tasks in ("posetrl", "inliner", "function_size", "posetrl+function_size", *GUARDED):
        policies = [shipped()[task] for task in re.split("[ +]", tasks)]
        made[tasks] = write_clang_config(folder / f"{tasks.replace(' ', '-')}.cfg", policies, guard=tasks in GUARDED)
    return made


@pytest.fixture(params=GUARDED)
def guarded(request: pytest.FixtureRequest, configs: Configs) -> Path:
    """A guarded configuration."""
    config = configs[request.param]
    assert config is not None
    return config


def command(config: Path | None, *options: str | Path) -> list[str | Path]:
    return [toolchain.tool("clang"), *([] if config is None else [f"--config={config}"]), "-Oz", *options]


def compile_in(folder: Path, config: Path | None, *options: str | Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    return subprocess.run(command(config, *options), cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def made_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".yaml"}


def kept(said: str) -> str:
    """The policies that the guard has kept, with a plus between them."""
    return "+".join(way for way in re.findall(r"; kept: (\S+)", said) if way not in ("stock", "default<Oz>"))


@pytest.mark.parametrize("who", GUARDED)
@pytest.mark.parametrize(
    "flags",
    ["-c", "-c -g -gsplit-dwarf", "-S", "-c -emit-llvm", "-c -fsave-optimization-record", "-c -fPIC -ffunction-sections -fstack-usage", "-c -MMD"],
)
def test_what_is_written_is_what_the_kept_ones_write_alone(flags: str, who: str, configs: Configs, tmp_path: Path) -> None:
    for name in SMALLEST.values():
        (program,) = corpora.embedded(f"embedded/{name}")
        options: tuple[str | Path, ...] = (*flags.split(), "-ffile-compilation-dir=.", "-w", "-Rpass=mlcb", program)
        guarded = compile_in(tmp_path / f"{program.stem}-guarded", configs[who], *options)
        assert guarded.returncode == 0, guarded.stderr
        alone = compile_in(tmp_path / f"{program.stem}-alone", configs[kept(guarded.stderr)], *options)
        assert alone.returncode == 0, alone.stderr
        assert made_in(tmp_path / f"{program.stem}-guarded") == made_in(tmp_path / f"{program.stem}-alone")


@pytest.mark.parametrize("way", SMALLEST)
def test_the_smallest_is_kept(way: str, configs: Configs, tmp_path: Path) -> None:
    (program,) = corpora.embedded(f"embedded/{SMALLEST[way]}")
    assert kept(compile_in(tmp_path, configs["posetrl inliner"], "-c", "-w", "-Rpass=mlcb", program).stderr) == way


def test_warnings_are_said_once_by_the_one_that_is_kept(guarded: Path, tmp_path: Path) -> None:
    (tmp_path / "warns.c").write_text(WARNS)
    flags = ("-Wframe-larger-than=1000", "-c", "warns.c")
    assert "warning: stack frame size" in compile_in(tmp_path, None, *flags).stderr
    assert compile_in(tmp_path, guarded, *flags).stderr == compile_in(tmp_path, None, *flags).stderr


@pytest.mark.parametrize(
    ("source", "flags"), [(WARNS, ("-Wframe-larger-than=1000", "-Werror")), (FAILS_IN_THE_BACKEND, ())], ids=["warning", "assembler"]
)
def test_an_error_of_the_backend_is_said_as_stock_says_it(source: str, flags: tuple[str, ...], guarded: Path, tmp_path: Path) -> None:
    for folder in ("guarded", "stock"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "source.c").write_text(source)
    options = (*flags, "-c", "source.c")
    done, stock = (compile_in(tmp_path / folder, config, *options) for folder, config in (("guarded", guarded), ("stock", None)))
    assert (done.returncode, done.stderr) == (stock.returncode, stock.stderr)
    assert done.returncode != 0
    assert os.listdir(tmp_path / "guarded") == ["source.c"]


@pytest.mark.parametrize("option", ["-stop-after=prologepilog", "-stop-before=machine-cp"])
def test_machine_code_in_the_middle_is_written_as_by_stock(option: str, guarded: Path, tmp_path: Path) -> None:
    program = corpora.embedded("embedded/validation")[0]
    done = compile_in(tmp_path, guarded, "-c", "-w", "-mllvm", option, program, "-o", "out.mir")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out.mir").read_text().startswith("--- |")


@pytest.mark.parametrize("output", ["/dev/null", "-"])
def test_an_object_goes_where_it_is_told(output: str, guarded: Path, tmp_path: Path) -> None:
    program = corpora.embedded("embedded/validation")[0]
    done = subprocess.run(command(guarded, "-c", "-w", program, "-o", output), cwd=tmp_path, capture_output=True, timeout=120, check=True)
    assert done.stdout[:4] == (b"\x7fELF" if output == "-" else b"")
    assert os.listdir(tmp_path) == []


class Slots:
    """A jobserver as make has one, and what a compiler is told of it."""

    at_once = ("-Xclang", "-mllvm", "-Xclang", "-mlcb-jobs=3")

    def __init__(self, folder: Path, tokens: int | None) -> None:
        self.tokens = tokens or 0
        os.mkfifo(folder / "slots")
        self.slots = os.open(folder / "slots", os.O_RDWR | os.O_NONBLOCK)
        os.write(self.slots, b"+" * self.tokens)
        self.environment = {"MAKEFLAGS": "" if tokens is None else f" -j4 --jobserver-auth=fifo:{folder / 'slots'}"}

    def has_all(self) -> bool:
        """Whether all tokens were given back; to be asked once."""
        back = os.read(self.slots, 10) if self.tokens else b""
        os.close(self.slots)
        return back == b"+" * self.tokens


def test_make_that_shares_no_slots_is_lent_none(configs: Configs, tmp_path: Path) -> None:
    """GNU make 4.3 names its descriptors to every recipe, and closes them to most; the object's own file may have their numbers."""
    (tmp_path / "long.c").write_text(LONG)
    built = command(configs["posetrl inliner"], *Slots.at_once, "-c", "long.c")
    most = 0
    with subprocess.Popen(
        built, cwd=tmp_path, env=os.environ | {"MAKEFLAGS": " -j4 --jobserver-auth=3,4"}, stderr=subprocess.PIPE, text=True
    ) as compiler:
        while compiler.poll() is None:
            most = max(most, len(processes.listed(compiler.pid)))
        assert (compiler.returncode, compiler.communicate()[1]) == (0, "")
    assert most < 3  # the one at work, and the one that it was forked from


@pytest.mark.parametrize(("tokens", "forks"), [(None, 3), (1, 2), (0, 1)], ids=["no make", "one token", "none"])
def test_trials_at_once_take_slots_of_make(tokens: int | None, forks: int, configs: Configs, tmp_path: Path) -> None:
    guarded, make = configs["posetrl inliner"], Slots(tmp_path, tokens)
    (tmp_path / "long.c").write_text(LONG)
    with subprocess.Popen(
        command(guarded, *make.at_once, "-c", "long.c"), cwd=tmp_path, env=os.environ | make.environment, stderr=subprocess.PIPE, text=True
    ) as compiler:
        processes.left(compiler.pid, forks)
        _, said = compiler.communicate(timeout=60)
        assert (compiler.returncode, said) == (0, "")
    assert make.has_all()
    (tmp_path / "parallel.o").write_bytes((tmp_path / "long.o").read_bytes())
    assert compile_in(tmp_path, guarded, "-c", "long.c").returncode == 0
    assert (tmp_path / "parallel.o").read_bytes() == (tmp_path / "long.o").read_bytes()


def test_a_fork_that_compares_in_its_turn_gives_all_slots_back(configs: Configs, tmp_path: Path) -> None:
    make = Slots(tmp_path, 3)
    program = corpora.embedded("embedded/train/sha256")[0]
    built = command(configs["posetrl function_size"], *make.at_once, "-c", "-w", program)
    subprocess.run(built, cwd=tmp_path, env=os.environ | make.environment, timeout=60, check=True)
    assert make.has_all()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_nothing_is_left_of_a_compiler_that_is_killed(how: signal.Signals, guarded: Path, tmp_path: Path) -> None:
    (tmp_path / "long.c").write_text(LONG)
    with subprocess.Popen(command(guarded, "-c", "long.c"), cwd=tmp_path) as compiler:
        forks = [os.pidfd_open(fork) for fork in processes.left(compiler.pid, 1)]
        compiler.send_signal(how)
        compiler.wait(timeout=60)
    assert processes.ends(forks)
    assert not list(tmp_path.glob("*.o"))
