# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tutorials do what they say: their commands and files, in order, with small budgets."""

import re
from pathlib import Path

import pytest

from tests.support.tutorials import BLOCK, ROOT, TUTORIALS, Block, blocks, follow, printed_as

LIBRARY = ROOT / "build" / "tests"
"""As `make test-native` leaves it: what is built there is not built again."""
ONE = "--programs embedded/train/fft --validation embedded/validation/chacha20"
UPDATE = f"{ONE} --iterations 1 --set steps_per_iteration=64 --set num_envs=2"
TINY = {
    "first_policy": {
        "--programs embedded/train --iterations 5": UPDATE,
        "best policy/": "best policy/ --programs embedded/validation/chacha20",
        "--programs embedded/test": "--programs embedded/test/aes",
    },
    "own_loop": {"20000": "512", "2000 inliner": "512 inliner"},
    "own_programs": {},
    "reading_a_card": {"--programs embedded/test": "--programs embedded/test/aes"},
    "own_compiler": {
        "-S . -B build/library -DMLCB_LLVM=OFF": f"-G Ninja -S {ROOT} -B {LIBRARY} -DMLCB_TESTS=ON -DMLCB_LLVM=OFF",
        "--build build/library": f"--build {LIBRARY} --target mlcb_core mlcb_c mlcb_grpc mlcb_serdes_json mlcb_serdes_protobuf",
        "--install build/library": f"--install {LIBRARY}",
    },
}
"""What each page's commands have here instead of their budgets."""
SLOW = {
    "sweep": {
        "--programs embedded/train --trials 8 --iterations 20": f"{ONE} --trials 2 --iterations 1",
        "best policy/": "best policy/ --programs embedded/train/fft",
    },
    "new_task": {
        "--programs embedded/train --iterations 20": UPDATE,
        "best policy/": "best policy/ --programs embedded/validation/chacha20",
    },
}


def page(name: str) -> str:
    return (TUTORIALS / f"{name}.md").read_text()


@pytest.mark.parametrize("name", TINY)
def test_tutorial_does_what_it_says(name: str, tmp_path: Path) -> None:
    follow(page(name), tmp_path, TINY[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_long_tutorial_does_what_it_says(name: str, tmp_path: Path) -> None:
    follow(page(name), tmp_path, SLOW[name])


def test_every_tutorial_is_followed() -> None:
    assert {path.stem for path in TUTORIALS.glob("*.md")} == TINY.keys() | SLOW.keys()


@pytest.mark.parametrize("name", TINY | SLOW)
def test_every_fence_of_a_tutorial_is_a_block(name: str) -> None:
    assert page(name).count("```") == 2 * len(BLOCK.findall(page(name)))
    assert [block for block in blocks(page(name)) if not block.title and not block.reason and block.language not in ("sh", "text")] == []


def test_rows_that_are_quoted_stand_in_the_card() -> None:
    card = (ROOT / "mlcb_gym/policies/posetrl/README.md").read_text().splitlines()
    quoted = re.findall(r"^> (\| .*)", page("reading_a_card"), re.MULTILINE)
    assert len(quoted) == 5
    assert [row for row in quoted if row not in card] == []


def test_command_that_fails_fails_its_page(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no-such-command"):
        follow("```sh\nno-such-command\n```\n", tmp_path, {})


def test_other_output_fails_its_page(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="expected\ntwo"):
        follow("```sh\necho one\n```\n\n```text\ntwo\n```\n", tmp_path, {})


def test_block_for_readers_is_not_run(tmp_path: Path) -> None:
    text = "<!-- not run: it takes an hour -->\n```sh\nno-such-command\n```\n"
    assert blocks(text) == [Block("sh", "no-such-command\n", reason="it takes an hour")]
    follow(text, tmp_path, {})


def test_dots_stand_for_anything() -> None:
    assert printed_as("a\n...\nb 1...\n", "a\nmuch\nb 12\n")
    assert printed_as("a\n...\nb\n", "a\nb\n")
    assert not printed_as("a\n...\nb\n", "a\nmuch\n")
