# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files, folders and links come to their place whole or not at all."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from errno import EINVAL, ENOTSUP
from pathlib import Path
from stat import S_ISDIR

import pytest

from mlcb_gym.atomic import _swap, remove, replacing, write


def make_folder(path: Path, text: str) -> None:
    path.mkdir()
    (path / "file").write_text(text)
    (path / text).touch()


KINDS: dict[str, Callable[[Path, str], object]] = {
    "file": lambda path, text: path.write_text(text),
    "folder": lambda path, text: make_folder(path, text),
    "link": lambda path, text: path.symlink_to(text),
}
READ: dict[str, Callable[[Path], str]] = {
    "file": Path.read_text,
    "folder": lambda path: (path / "file").read_text() * (path / (path / "file").read_text()).exists(),
    "link": lambda path: str(path.readlink()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_new_one_takes_the_place_of_the_old(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "folder" / "target"
    for text in ("old", "new"):
        with replacing(target) as unfinished:
            KINDS[kind](unfinished, text)
        assert READ[kind](target) == text
    assert list(target.parent.iterdir()) == [target]


def fails(_: object) -> None:
    raise OSError("no such luck")


def refuse(why: int) -> None:
    raise OSError(why, os.strerror(why))


@pytest.mark.parametrize("kind", KINDS)
def test_block_that_fails_leaves_the_old_one_alone(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    KINDS[kind](target, "old")
    with pytest.raises(OSError, match="no such"), replacing(target) as unfinished:
        fails(KINDS[kind](unfinished, "new"))
    assert READ[kind](target) == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "target") as unfinished:
        (unfinished / "file").touch()
    assert caught.value.filename == str(tmp_path / "target")


@pytest.mark.parametrize("name", ["file/target", "file/folder/target"])
def test_target_below_a_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as caught:
        write(tmp_path / name, "")
    assert caught.value.filename == str(tmp_path / name)


def test_error_of_another_file_names_that(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "target"):
        (tmp_path / "other").read_text()
    assert caught.value.filename == str(tmp_path / "other")


@pytest.mark.parametrize("why", [EINVAL, ENOTSUP])
def test_file_system_without_fsync_of_folders_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: int) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: refuse(why) if S_ISDIR(os.fstat(descriptor).st_mode) else None)
    write(tmp_path / "target", "new")
    assert (tmp_path / "target").read_text() == "new"


def test_fsync_of_a_file_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: refuse(EINVAL))
    with pytest.raises(OSError, match="Invalid argument"):
        write(tmp_path / "target", "new")
    assert not list(tmp_path.iterdir())


def test_folder_in_the_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "target" / "within").mkdir(parents=True)
    with pytest.raises(IsADirectoryError) as caught:
        write(tmp_path / "target", "new")
    assert caught.value.filename == str(tmp_path / "target")


def test_folder_that_is_replaced_is_there_at_every_moment(tmp_path: Path) -> None:
    target = tmp_path / "target"
    make_folder(target, "old")
    with ThreadPoolExecutor(1) as pool:
        seen = pool.submit(lambda: [target.exists() for _ in range(20_000)])
        for number in range(50):
            with replacing(target) as unfinished:
                make_folder(unfinished, str(number))
        assert all(seen.result())


def test_folder_that_cannot_be_removed_whole_loses_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path / "target", "old")
    monkeypatch.setattr(os, "unlink", lambda *_, **__: refuse(EINVAL))
    remove(tmp_path / "target")
    assert [left.name.rpartition(".")[0] for left in tmp_path.iterdir()] == [".target"]


def test_folders_are_swapped_where_the_file_system_cannot_exchange_them(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    make_folder(first, "new")
    make_folder(second, "old")
    _swap(first, second)
    assert [READ["folder"](folder) for folder in (first, second)] == ["old", "new"]
    assert sorted(tmp_path.iterdir()) == [first, second]
