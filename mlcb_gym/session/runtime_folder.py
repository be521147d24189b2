# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of this user's running processes, which no other user can read and which do not outlive them."""

import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mlcb_gym.errors import TaskError

VARIABLE = "MLCB_RUNTIME_FOLDER"
TOKEN, STATUS, UNPUBLISHED = SUFFIXES = (".token", ".server", ".new")
LOCK = ".lock"


class RuntimeFile:
    """A new file, locked, of a name that nobody knows yet. A context manager, which removes it.

    Raises:
        TaskError: there is no place for it, or others may open that.
    """

    def __init__(self) -> None:
        self.path = folder() / f"{secrets.token_hex(8)}{UNPUBLISHED}"
        with ExitStack() as ends:
            try:
                self._hold_folder(ends)
                with _alone():
                    self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                    fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            except OSError as error:
                raise TaskError(f"{error.filename}: {error.strerror}, expected a place for files of this user alone, or {VARIABLE}") from error
            ends.callback(self._remove)
            self._ends = ends.pop_all()

    def write(self, text: str) -> None:
        """Writes a text in place of the last, which must not be longer."""
        os.pwrite(self._descriptor, text.encode(), 0)

    def publish(self, name: str) -> None:
        """Gives it a name by which others find it, which ends with ``TOKEN`` or ``STATUS``.

        Raises:
            TaskError: another process that runs has a file of this name.
        """
        with _alone():
            if is_alive(folder() / name):
                raise TaskError(f"{folder() / name}: another process has it, expected another address")
            self.path = self.path.rename(folder() / name)

    def __enter__(self) -> "RuntimeFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    @staticmethod
    def _hold_folder(ends: ExitStack) -> None:
        """Make the folder where there is none; lock it while this lives, so that nobody who tidies up removes what is old in it."""
        _make(folder())
        descriptor = os.open(folder(), os.O_RDONLY | os.O_DIRECTORY)
        ends.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_SH)

    def _remove(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)


def folder() -> Path:
    """Return the folder of these files: in the one that ``MLCB_RUNTIME_FOLDER`` names, or else in /tmp, whatever else is in the environment."""
    return Path(os.environ.get(VARIABLE) or "/tmp") / f"mlcb_gym-{os.getuid()}"


def running(suffix: str) -> Iterator[Path]:
    """Yield the published files of processes that run."""
    return filter(is_alive, sorted(folder().glob(f"*{suffix}")) if _is_own(folder()) else ())


def is_alive(file: Path) -> bool:
    """Whether the process runs that has published a file, and is this user's."""
    if not _is_own(file.parent):
        return False
    with suppress(OSError):
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False


def _make(made: Path) -> None:
    """Make the folder where there is none; remove what processes that were killed have left there."""
    with suppress(FileExistsError):
        made.mkdir(mode=0o700)
    if not _is_own(made):
        raise TaskError(f"{made}: expected a folder that this user alone may open, or {VARIABLE}")
    with _alone():
        for file in made.iterdir():
            if file.suffix in SUFFIXES and not is_alive(file):
                file.unlink(missing_ok=True)


@contextmanager
def _alone() -> Iterator[None]:
    """Keep others from making, publishing and removing files."""
    descriptor = os.open(folder() / LOCK, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _is_own(made: Path) -> bool:
    with suppress(OSError):
        found = made.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return False
