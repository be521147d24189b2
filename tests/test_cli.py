# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `mlcb` command as a user meets it: what it prints, and one line and exit code 1 for what is wrong."""

from pathlib import Path

import pytest

from mlcb_gym.cli import validation_of
from tests.support.command_line import mlcb


def test_list_names_every_tensor() -> None:
    done = mlcb("list")
    assert done.returncode == 0
    assert "posetrl" in done.stdout
    assert "action_mask" in done.stdout


def test_plugin_prints_a_path_that_exists() -> None:
    assert Path(mlcb("plugin").stdout.strip()).exists()


def test_corpus_list_names_the_programs() -> None:
    assert "embedded/test/aes" in mlcb("corpus", "list", "embedded/test").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("corpus", "list", "no-such-thing"),
        ("clang-config", "no-such-thing"),
        ("export", "no-such-thing", "policy"),
        ("evaluate", "posetrl", "--policy", "no-such-thing"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_1(arguments: tuple[str, ...]) -> None:
    done = mlcb(*arguments)
    assert done.returncode == 1
    assert done.stderr.startswith("mlcb: ")
    assert "no-such-thing" in done.stderr
    assert done.stderr.count("\n") == 1


def test_check_says_that_an_environment_conforms() -> None:
    assert mlcb("check", "posetrl").stdout.strip() == "PosetRL-v0: conforms"


def test_argument_that_an_environment_has_not_is_named() -> None:
    done = mlcb("train", "posetrl", "--output", "unused", "--programs", "embedded/train", "--env", "rewardd=size")
    assert done.returncode == 2
    assert "rewardd: posetrl has no such argument" in done.stderr


def test_list_begins_with_tasks_and_their_environments() -> None:
    printed = mlcb("list").stdout
    assert all(name in printed for name in ("LoopDistribution-v0", "loop_distribution", "selector", "dependences"))


def test_training_split_is_validated_by_its_sibling() -> None:
    assert validation_of(["debian/train", "loops/train/stride", "data/train"]) == ["debian/validation", "loops/validation", "embedded/validation"]
