# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files, folders and links that come to their place whole or not at all, and are on the disk once they are there."""

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EEXIST, EINVAL, ENOSYS, ENOTDIR, ENOTEMPTY, ENOTSUP
from pathlib import Path
from secrets import token_hex

AT_FDCWD, RENAME_EXCHANGE = -100, 2
"""Of Linux: ``fcntl.h``, ``linux/fs.h``."""


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a path beside ``target`` to write to: a file, folder or link that takes the place of ``target`` when the block ends.

    It is on the disk (``fsync``) before it has the name, and the name when this returns. Where the block fails, the process is killed or the machine
    loses power, ``target`` is the old one or the new one, whole; what is unfinished has a name of ``.NAME.`` and 8 digits, without a suffix.

    Raises:
        OSError: it cannot be written; the error names ``target``.
    """
    unfinished = _unfinished(target)
    _make_folder_of(target)
    try:
        yield unfinished
        _sync_all(unfinished)
        _rename(unfinished, target)
        _sync(target.parent)
    except OSError as error:
        if error.errno is not None and (error.filename is None or str(error.filename).startswith(str(unfinished))):
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise
    finally:
        _remove(unfinished)


def remove(folder: Path) -> None:
    """Remove a folder; what cannot be removed, or not yet, has the name of something unfinished.

    Raises:
        OSError: it is there as before.
    """
    unfinished = _unfinished(folder)
    folder.rename(unfinished)
    _remove(unfinished)


def _unfinished(target: Path) -> Path:
    return target.with_name(f".{target.name}.{token_hex(4)}")


def _make_folder_of(target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(target)) from error
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error


def write(target: Path, contents: str | bytes) -> None:
    """Write a file, whole or not at all; its folder is made where there is none.

    Raises:
        OSError: it cannot be written; what stood there still does.
    """
    with replacing(target) as unfinished:
        unfinished.write_bytes(contents.encode() if isinstance(contents, str) else contents)


def _sync_all(path: Path) -> None:
    if path.is_symlink():
        return
    if path.is_dir():
        for entry in path.iterdir():
            _sync_all(entry)
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (EINVAL, ENOTSUP) or not path.is_dir():  # not every file system has an fsync of folders
            raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(descriptor)


def _rename(source: Path, target: Path) -> None:
    """Give one path the name of another; an older folder, which no rename replaces, then has the name of ``source``."""
    try:
        source.replace(target)
    except OSError as error:
        if error.errno not in (EEXIST, ENOTEMPTY):
            raise
        _exchange(source, target)


def _exchange(first: Path, second: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0:
        return
    if (why := ctypes.get_errno()) not in (EINVAL, ENOSYS):
        raise OSError(why, os.strerror(why), str(second))
    _swap(first, second)


def _swap(first: Path, second: Path) -> None:
    """Exchange two names where the file system cannot do it at once: for a moment there is no ``second``."""
    aside = first.with_name(f"{first.name}.old")
    second.rename(aside)
    try:
        first.rename(second)
    except OSError:
        aside.rename(second)
        raise
    aside.rename(first)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
